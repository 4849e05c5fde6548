// kernel_times.h: how long each kernel runs on the GPU, where that is known.
//
// Room 3.
#pragma once

#include <map>
#include <string>

#include "model/activity.h"
#include "model/histogram.h"

namespace hostprobe::analysis {

using KernelTimes = std::map<std::string, Histogram>;  // by name

KernelTimes kernel_times(const DeviceTimeline& device);

}  // namespace hostprobe::analysis
