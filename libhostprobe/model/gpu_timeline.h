// gpu_timeline.h: the GPUs' time of processes of one host: of each, what ran when, as far as it can be known without a profile.
//
// Room 3. With timing events of hostprobe's own by the replay of learned durations (gpu_replay.h); without them by bounds: from a launch
// into a GPU that was known to be empty until a wait for all of it returned it may have been busy or not.
#pragma once

#include <vector>

#include "activity.h"
#include "gpu_work.h"

namespace hostprobe::analysis {

// A process's work, and where zero of its axis lies on that of the others.
struct GpuMember {
  GpuWork work;
  double offset_ns = 0;
};

// In their order; times of each are those of its own axis again. Nothing runs (source kNone) where nothing was launched.
std::vector<DeviceTimeline> gpu_timelines(std::vector<GpuMember> members);

// Of a process alone: exactly where that is known, else as far as its own calls and events tell.
DeviceTimeline gpu_timeline(const Timeline& timeline);

}  // namespace hostprobe::analysis
