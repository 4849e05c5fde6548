// running.h: what the CPU time of a thread went into, by samples of it.
//
// The waist (answer/). analysis/measures/running.h fills it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thread_key.h"

namespace hostprobe::analysis {

struct RunningRow {
  std::string function;  // "" = no symbol covers the code
  std::string file;      // of Python
  unsigned line = 0;     // the one that most samples of the function are at
  std::string library;   // of code; "kernel": in the kernel
  std::string caller;    // of Python: whoever called it most, in another file
  double ns = 0;
  double step_ns = 0;  // of the mean step
  std::uint64_t samples = 0;
};

struct RunningAnswer {
  ThreadKey thread{};
  std::vector<RunningRow> python, code;  // heaviest first
  double python_ns = 0, code_ns = 0;     // that samples stand for
  std::uint64_t python_samples = 0, code_samples = 0;
  std::uint64_t torn = 0;   // of the Python samples: the frames changed while they were read
  std::uint64_t steps = 0;  // that lie whole within the time of the samples; 0: step_ns is not known
};

inline constexpr const char* kCollecting = "garbage collection";

inline constexpr const char* kInKernel = "kernel";

}  // namespace hostprobe::analysis
