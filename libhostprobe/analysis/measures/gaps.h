// gaps.h: spans in which the GPU had nothing to do, and the launch that ended each.
//
// Room 3. Exact, from the same activities as gpu_busy.h: the complement of their union, in steps where steps are known, else
// between the first and the last activity. No filter by length: where launches are the limit every gap is short.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/activity.h"
#include "model/histogram.h"
#include "model/timeline.h"
#include "model/window.h"

namespace hostprobe::analysis {

struct Gap {
  double begin_ns = 0;
  double end_ns = 0;
  // What ended it: the activity that ran next, and the call that launched that one.
  std::string kernel;
  std::string function;  // "" = no record of it
  std::uint32_t tid = 0;
  std::string thread;
  double launch_ns = 0;
};

struct GapAnswer {
  Histogram length;
  std::vector<Gap> longest;  // at most ten, longest first
};

// Nothing where the GPU's activities are not known, or not all of them.
std::optional<GapAnswer> answer_gaps(const Timeline& timeline, const DeviceTimeline& device, const Window& window,
                                     const std::vector<Window>& steps);

}  // namespace hostprobe::analysis
