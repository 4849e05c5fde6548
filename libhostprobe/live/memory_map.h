// memory_map.h: what a living process has mapped, as the modules that addresses are named by.
//
// Room 3. From /proc/PID/maps, at once and without the process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "trace/trace.h"

namespace hostprobe::analysis {

// Executable files of the process, by address. Paths are those that lead there from here, also where the process lives in
// another mount namespace. Throws std::runtime_error when there is no such process, TraceForbidden when we may not look.
std::vector<Module> modules_of_process(pid_t pid);

// Where a path of the process leads from here: its files may be in another mount namespace.
std::string path_from_here(pid_t pid, const std::string& path);

}  // namespace hostprobe::analysis
