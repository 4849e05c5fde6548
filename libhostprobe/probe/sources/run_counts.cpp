// run_counts.cpp: see run_counts.h.
#include "probe/sources/run_counts.h"

#include <stdio.h>
#include <stdlib.h>

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

}  // namespace hostprobe::probe
