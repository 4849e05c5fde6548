// run_counts.h: what the kernel's scheduler counts of a thread of this process: the three numbers of its schedstat.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. One small read of /proc.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// So far. `delay_ns`: ready to run, and not running; `runs`: how often it was put on a CPU.
struct RunCounts {
  std::uint64_t cpu_ns, delay_ns, runs;
};

// False: the thread has ended, or the kernel does not count.
bool read_run_counts(std::uint32_t tid, RunCounts& counts);
// Its CPU time alone, without /proc. 0: it has ended.
std::uint64_t cpu_ns_of(std::uint32_t tid);

}  // namespace hostprobe::probe
