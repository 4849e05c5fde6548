// missing_trace.h: why a run folder holds no trace.
//
// Room 4.
#pragma once

#include <string>

namespace hostprobe::cli {

// One sentence or two for the path a command was given: no run folder at all, or what the job files in it say about the
// last program that was started into it, and what to do.
std::string no_trace_text(const std::string& run);

}  // namespace hostprobe::cli
