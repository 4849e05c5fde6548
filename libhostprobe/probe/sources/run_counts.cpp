// run_counts.cpp: see run_counts.h.
#include "probe/sources/run_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "probe/runtime/small_file.h"

namespace hostprobe::probe {

bool read_run_counts(std::uint32_t tid, RunCounts& counts) {
  char path[64], line[96];
  snprintf(path, sizeof path, "/proc/self/task/%u/schedstat", tid);
  if (!read_small_file(path, line, sizeof line)) return false;
  char* next = nullptr;
  counts.cpu_ns = strtoull(line, &next, 10);
  counts.delay_ns = strtoull(next, &next, 10);
  counts.runs = strtoull(next, nullptr, 10);
  return true;
}

std::uint64_t cpu_ns_of(std::uint32_t tid) {
  const auto clock = static_cast<clockid_t>((~tid << 3) | 6);  // CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED
  timespec t{};
  if (clock_gettime(clock, &t) != 0) return 0;
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace hostprobe::probe
