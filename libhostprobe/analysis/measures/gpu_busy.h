// gpu_busy.h: how busy the GPU was, exactly: from an imported profile or the simulated node.
//
// Room 3. Where neither is there, nothing is answered: calls of the host do not tell when their work ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/gpu.h"
#include "answer/histogram.h"
#include "model/activity.h"
#include "model/busy_time.h"
#include "model/window.h"

namespace hostprobe::analysis {

// Activities count for the window in which they begin; `steps` may be empty.
GpuAnswer answer_gpu(const DeviceTimeline& device, const Window& window, const std::vector<Window>& steps);

}  // namespace hostprobe::analysis
