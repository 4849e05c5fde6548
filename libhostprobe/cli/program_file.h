// program_file.h: whether a library can be preloaded into a program, told by its file.
//
// Room 4. So that a run without a trace has its true reason.
#pragma once

#include <string>

namespace hostprobe::cli {

// Why nothing can be loaded into `program`, found along PATH as execvp does: "statically linked", "setuid", "built against
// musl", "not a 64-bit x86 program". "" where nothing speaks against it, or the file cannot be read.
std::string load_obstacle(const std::string& program);

}  // namespace hostprobe::cli
