// chrome_timeline.h: a run as a timeline for the Perfetto UI and chrome://tracing, in the trace event format.
//
// Room 3. Written event by event. Arrows lead from a launch to its kernel, and from the call that woke a thread to the wait
// that it ended. Times are microseconds since the first moment of the run.
#pragma once

#include <string>
#include <vector>

#include "trace/jobs.h"

#include "dump.h"
#include "exported_run.h"

namespace hostprobe::analysis {

// Returns what could not be read, one line each.
std::vector<std::string> export_chrome(const ChosenJob& run, const Sink& sink, const ExportProgress& progress = {});

}  // namespace hostprobe::analysis
