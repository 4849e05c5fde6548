// exported_run.h: the traces of a run, one after the other, for a form that leaves hostprobe: only one is held at a time.
//
// Room 3.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "export_form.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

// `visit_kernel` has those of the kernel, which are of no process. Returns what could not be read, one line each.
std::vector<std::string> visit_traces(const ChosenJob& run, const std::function<void(const Timeline&)>& visit,
                                      const std::function<void(const Trace&)>& visit_kernel,
                                      const ExportProgress& progress);

// CLOCK_REALTIME at which the first process of the run began, a little earlier rather than later; 0 where nothing tells.
std::uint64_t first_moment_ns(const ChosenJob& run);

}  // namespace hostprobe::analysis
