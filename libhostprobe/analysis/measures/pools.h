// pools.h: threads that a library made to share out its work, how many of them run at a time, and how much of that is waiting for each other.
//
// Room 3. A thread that spins at a barrier uses its CPU and does nothing: it is one that waits. So what a pool would have to have is not
// what it uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/process.h"
#include "model/samples.h"
#include "sampled_share.h"

namespace hostprobe::analysis {

// A runtime that only shares out what others compute: OpenMP's.
bool is_sharing_runtime(std::string_view library);
// Code that looks again and again whether another thread is done.
bool spins_in(std::string_view function, std::string_view library);

// How a thread shares its CPUs with others: from one switch to the next, by the mean, 0: not known; and of its CPU time in the kernel.
struct Switching {
  double run_ns = 0, kernel_part = 0;
};
Switching switching_of(const std::vector<SupplySample>& supply);

// What of the CPU time of threads is waiting for each other: by samples of their own code, and by what their switches take in the kernel,
// which is counted and so is certain.
struct SpinCount {
  std::uint64_t samples = 0, spinning = 0;             // of their own code
  double cpu_ms = 0, kernel_ms = 0, switching_ms = 0;  // switching: of the time in the kernel

  void add_kernel(double thread_cpu_ms, const Switching& switching);
  void add(const SpinCount& other);
  SampledShare share() const;
};

// Of one process.
struct Pool {
  std::string library;
  std::uint64_t threads = 0;         // with the one that gives it work, where that works as well
  double at_a_time = 0;              // of them: they ran, or were ready to
  double cpu_ms = 0, no_cpu_ms = 0;  // of those it made; ready, and not running
  SpinCount code;
  double work_step_ns = 0;  // of the mean step, what of its CPU time was not spinning; 0: not known
  std::string place;        // where it spins most, "function (library)"

  double wanted_ms() const { return cpu_ms + no_cpu_ms; }
};

// That which wants most first. Threads that have another task, or run Python, are in none.
std::vector<Pool> pools_of(const ProcessAnswer& process);

// All pools of a job whose threads share the CPUs that one of its processes may use.
struct PoolDemand {
  std::string library;                                   // of the heaviest
  std::uint64_t threads = 0, processes = 0;              // of all; that have such a pool
  double at_a_time = 0;                                  // of all
  double cpus = 0;                                       // that there are for them
  bool of_quota = false;                                 // by the quota of the group, which allows less than the mask
  double spins_part = 0, spins_low = 0, spins_high = 1;  // of their CPU time; in 95 of 100 cases at least and at most
  std::string place;                                     // where they spin most
  double work_step_ns = 0;                               // of the asked process, as in Pool

  // Each process can have so many without others waiting for a CPU.
  std::uint64_t fitting_threads() const;
};

// Nothing: they fit, or want less than others of the job, or it is not known that they spin.
std::optional<PoolDemand> pools_beyond_cpus(const std::vector<const ProcessAnswer*>& job, const ProcessAnswer& process);

}  // namespace hostprobe::analysis
