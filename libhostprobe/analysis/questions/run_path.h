// run_path.h: the critical path of a job, over all its ranks.
//
// Room 3. The ranks' graphs, put together where they wait for each other (path_operations.h). A step of the job lasts from the
// end of the step before, on all ranks, to its own on the last; so each instant is in one step at most. Of a run that is larger
// than is held at a time as many steps are looked at as fit, evenly spread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/timeline/host_clocks.h"
#include "collective_kernels.h"
#include "critical_path.h"
#include "process.h"

namespace hostprobe::analysis {

// A process that works for the job.
struct RunPathMember {
  const Timeline* timeline = nullptr;
  const ProcessAnswer* answer = nullptr;
  std::function<std::shared_ptr<const DeviceTimeline>()> device;
  std::shared_ptr<const CollectiveKernels> kernels;
  HostClock clock = {};  // of its host
};

// What of the path lies on one process.
struct RankPath {
  std::optional<int> rank;
  std::uint32_t pid = 0;
  PathShares share_ns{};
};

struct RunPath {
  PathAnswer path;
  std::vector<RankPath> ranks;  // as the members
  std::uint64_t steps = 0;      // that all ranks made; 0: none has a place in time, and the run is looked at as one
  std::uint64_t looked_at = 0;  // of these
};

inline constexpr std::size_t kMostPathEvents = 4'000'000;  // calls and activities

// Nothing where of any member activities, records of launches, or its part in collectives are not known, or where without
// steps there is more than is held.
std::optional<RunPath> answer_run_path(const std::vector<RunPathMember>& members, unsigned cores,
                                       std::size_t most_events = kMostPathEvents);

}  // namespace hostprobe::analysis
