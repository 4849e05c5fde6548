// unrecorded.h: why hostprobe does not record in a running process.
//
// Room 4. By what the system says of it from outside; nothing is asked of it.
#pragma once

#include <sys/types.h>

#include <string>

namespace hostprobe::cli {

// One sentence with what to do. "" where it cannot be known.
std::string why_unrecorded(pid_t pid);

}  // namespace hostprobe::cli
