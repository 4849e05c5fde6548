// gpu_busy.h: how busy the GPU was, exactly: from an imported profile or the simulated node.
//
// Room 3. Where neither is there, nothing is answered: calls of the host do not tell when their work ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/gpu.h"
#include "answer/window.h"
#include "model/gpu_timeline.h"

namespace hostprobe::analysis {

class Timeline;

// Activities count for the window in which they begin; `steps` may be empty.
GpuAnswer answer_gpu(const DeviceTimeline& device, const Window& window, const std::vector<Window>& steps);

// How long each kernel runs.
KernelTimes kernel_times(const DeviceTimeline& device);

// Spans in which it had nothing to do, and the launch that ended each: the complement of the union of all activities, in steps where steps are
// known, else between the first and the last activity. No filter by length: where launches are the limit every gap is short. Nothing where the
// activities are not known, or not all of them.
std::optional<GapAnswer> answer_gaps(const Timeline& timeline, const DeviceTimeline& device, const Window& window,
                                     const std::vector<Window>& steps);

}  // namespace hostprobe::analysis
