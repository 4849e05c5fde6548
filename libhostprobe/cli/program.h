// program.h: runs a program as a shell would, and passes signals on to it.
//
// Room 4.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hostprobe::cli {

inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kSignalBase = 128;

struct ProgramEnd {
  int status = 0;       // as a shell tells it: the exit status, or 128 + signal
  int start_error = 0;  // errno when the program could not be started
};

// `prepare` is called in the child, after the fork and before the program, to set its environment; it must not throw.
// `started` is called in the parent with the child's process id, also when that could not become the program: then with the
// error.
ProgramEnd run_program(const std::vector<std::string>& arguments, const std::function<void()>& prepare,
                       const std::function<void(int pid, int start_error)>& started);

}  // namespace hostprobe::cli
