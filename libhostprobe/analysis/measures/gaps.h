// gaps.h: spans in which the GPU had nothing to do, and the launch that ended each.
//
// Room 3. Exact, from the same activities as gpu_busy.h: the complement of their union, in steps where steps are known, else
// between the first and the last activity. No filter by length: where launches are the limit every gap is short.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/gpu.h"
#include "answer/histogram.h"
#include "model/activity.h"
#include "model/timeline.h"
#include "model/window.h"

namespace hostprobe::analysis {

// Nothing where the GPU's activities are not known, or not all of them.
std::optional<GapAnswer> answer_gaps(const Timeline& timeline, const DeviceTimeline& device, const Window& window,
                                     const std::vector<Window>& steps);

}  // namespace hostprobe::analysis
