// own_thread.h: hostprobe's own thread in a living process, known by its name.
//
// Room 3.
#pragma once

#include <sys/types.h>

#include <vector>

namespace hostprobe::analysis {

// By number; empty when the process has ended.
std::vector<pid_t> threads_of(pid_t pid);

// 0: the process has none, or none yet.
pid_t own_thread_of(pid_t pid);

}  // namespace hostprobe::analysis
