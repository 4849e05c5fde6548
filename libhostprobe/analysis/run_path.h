// run_path.h: the critical path of a job, over all its ranks, and where the time of its steps went.
//
// Room 3. The ranks' graphs, put together where they wait for each other (path_operations.h). A step of the job lasts from the
// end of the step before, on all ranks, to its own on the last; so each instant is in one step at most. Of a run that is larger
// than is held at a time as many steps are looked at as fit, evenly spread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "answer/host_clock.h"
#include "answer/path.h"
#include "answer/step_time.h"

namespace hostprobe::analysis {

class CollectiveKernels;
class Symbols;
class Timeline;
struct DeviceTimeline;
struct ProcessAnswer;

// A worker of a data loader.
struct RunPathWorker {
  const Timeline* timeline = nullptr;
  const ProcessAnswer* answer = nullptr;
};

// A process that works for the job.
struct RunPathMember {
  const Timeline* timeline = nullptr;
  const ProcessAnswer* answer = nullptr;
  std::function<std::shared_ptr<const DeviceTimeline>()> device;
  std::shared_ptr<const CollectiveKernels> kernels;
  HostClock clock = {};                     // of its host
  std::vector<RunPathWorker> workers = {};  // on that host
};

inline constexpr std::size_t kMostPathEvents = 4'000'000;  // calls and activities

struct JobAnswer {
  // Nothing where of any member activities, records of launches, or its part in collectives are not known.
  std::optional<RunPath> path;
  std::optional<StepTime> time;
  TimeUnknown unknown = TimeUnknown::kNoWorker;
};

// Neither where without steps there is more than is held.
JobAnswer answer_job(const std::vector<RunPathMember>& members, Symbols& symbols, unsigned cores,
                     std::size_t most_events = kMostPathEvents);

}  // namespace hostprobe::analysis
