// run_delay.h: for how long a thread was ready to run and did not, as the kernel counted. Whatever is said of a lack of CPUs stays below.
//
// Room 3.
#pragma once

#include <optional>

#include "trace/trace.h"

namespace hostprobe::analysis {

// Nothing: it ended before the kernel was asked about it.
inline std::optional<double> run_delay_ns(const Thread& thread) {
  const ThreadEntry& entry = thread.entry;
  if (entry.cpu_ns == 0 || entry.stands_for != 0) return std::nullopt;
  if (entry.run_delay_ns == 0 && entry.end_ticks != 0) return std::nullopt;
  return static_cast<double>(entry.run_delay_ns);
}

}  // namespace hostprobe::analysis
