// run_delay.h: for how long a thread was ready to run and did not, as the kernel counted. Whatever is said of a lack of CPUs stays below.
//
// Room 3.
#pragma once

#include <optional>

#include "answer/cause.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

// To a CPU that is idle, in a virtual machine.
inline constexpr double kUsualWayBackNs = 50'000;

// Its own group's CPU time was used up, or somebody else had the CPU.
inline bool is_lack_of_cpu(Cause cause) { return cause == Cause::kCpuContention || cause == Cause::kCpuThrottle; }

// Nothing: it ended before the kernel was asked about it.
inline std::optional<double> run_delay_ns(const Thread& thread) {
  const ThreadEntry& entry = thread.entry;
  if (entry.cpu_ns == 0 || entry.stands_for != 0) return std::nullopt;
  if (entry.run_delay_ns == 0 && entry.end_ticks != 0) return std::nullopt;
  return static_cast<double>(entry.run_delay_ns);
}

}  // namespace hostprobe::analysis
