// missing_trace.h: why a run folder holds no trace.
//
// Room 4.
#pragma once

#include <string>

#include "trace/jobs.h"

namespace hostprobe::cli {

// One sentence or two for what a command was given: no run folder at all, or what its job file says about the program that
// was started, and what to do; and that other jobs of the folder have traces.
std::string no_trace_text(const analysis::ChosenJob& chosen);
// The same of the job with this file, whether or not the folder holds traces of others.
std::string no_trace_text(const std::string& run, const std::string& job_file, bool has_others);

}  // namespace hostprobe::cli
