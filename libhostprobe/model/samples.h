// samples.h: what running threads were found doing (format/samples.h), thread by thread, by time.
//
// Room 3.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "answer/thread_key.h"

namespace hostprobe::analysis {

struct Trace;

struct RunningSample {
  double at_ns = 0;           // as events
  double ns = 0;              // of CPU time that it stands for
  std::uint64_t address = 0;  // of code; 0: in the kernel
  std::uint32_t stack = 0;    // of Python frames, as Record::stack; 0: they changed while they were read
};

// It did not run, and was in no call that is recorded.
struct BlockedSample {
  double at_ns = 0;
  std::uint64_t address = 0;  // that it is to go on at
  std::uint32_t stack = 0;    // of Python frames
  int call = -1;              // the system call's number; -1: none, a page was not there
};

// Page faults of a thread until then, since the one before, and its CPU time meanwhile, which the kernel counts in steps of 10 ms.
struct FaultSample {
  double at_ns = 0;
  double cpu_ns = 0, kernel_ns = 0;       // all of it, and what of it was in the kernel
  std::uint64_t faults = 0, of_disk = 0;  // all, and those for which the disk was asked
};

// What the kernel counted of a thread in that time: on a CPU, ready to run and on none, and how often it was put on one.
struct SupplySample {
  double begin_ns = 0, end_ns = 0;
  double cpu_ns = 0, delay_ns = 0;
  double kernel_ns = 0;  // of cpu_ns, in steps of 10 ms
  std::uint64_t runs = 0;
};

struct ThreadSamples {
  std::vector<RunningSample> python, code;
  std::vector<RunningSample> fault_places;  // code that touched pages which were not there
  std::vector<BlockedSample> blocked;
  std::vector<FaultSample> faults;
  std::vector<SupplySample> supply;
};

// Samples of threads that nobody knows are left out.
std::map<ThreadKey, ThreadSamples> running_samples(const Trace& trace);

// "augment (train.py:30)" in its parts; what has not this form is all function.
struct PythonPlace {
  std::string function, file;
  unsigned line = 0;  // 0: not known
};
PythonPlace python_place(std::string_view frame);

// The innermost frame; "": there is none.
std::string_view innermost_frame(const Trace& trace, std::uint32_t stack);

}  // namespace hostprobe::analysis
