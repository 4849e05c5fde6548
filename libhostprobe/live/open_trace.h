// open_trace.h: the trace that a living process records into.
//
// Room 3. Found by its open descriptor. hostprobe's thread has a descriptor table of its own, so the process's table does
// not show it.
#pragma once

#include <sys/types.h>

#include <string>

namespace hostprobe::analysis {

// A path that leads there from here; "" where the process has none open, or we may not look.
std::string open_trace_of(pid_t pid);

}  // namespace hostprobe::analysis
