// kernel_times.h: how long each kernel runs on the GPU, where that is known.
//
// Room 3.
#pragma once

#include <map>
#include <string>

#include "answer/gpu.h"
#include "answer/histogram.h"
#include "model/activity.h"

namespace hostprobe::analysis {

KernelTimes kernel_times(const DeviceTimeline& device);

}  // namespace hostprobe::analysis
