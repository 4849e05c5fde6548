// exported_run.h: the traces of a run, one after the other, for a form that leaves hostprobe: only one is held at a time.
//
// Room 3.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/timeline.h"
#include "trace/jobs.h"

namespace hostprobe::analysis {

// Called now and then with the bytes read so far and the bytes of all traces.
using ExportProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

// `visit_kernel` has those of the kernel, which are of no process. Returns what could not be read, one line each.
std::vector<std::string> visit_traces(const ChosenJob& run, const std::function<void(const Timeline&)>& visit,
                                      const std::function<void(const Trace&)>& visit_kernel,
                                      const ExportProgress& progress);

// CLOCK_REALTIME at which the first process of the run began, a little earlier rather than later; 0 where nothing tells.
std::uint64_t first_moment_ns(const ChosenJob& run);

// Who ended a wait, and when.
struct Wake {
  std::uint32_t tid = 0;
  std::uint64_t ticks = 0;
};

// Nothing where it is not known: no waker, or a post from before the wait.
std::optional<Wake> wake_of(const Function& function, const Record& record);

}  // namespace hostprobe::analysis
