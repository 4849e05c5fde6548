// idle_cpus.h: how many CPUs nobody used between two looks, by the kernel's own account.
//
// Room 2 (probe/). Cold: the writer thread. Who is on the way to a CPU counts as running in /proc/loadavg; a virtual CPU that was halted
// takes tens of microseconds to be there, so where threads wake each other often, that says of CPUs that are idle that they are wanted.
#pragma once

#include <cstdint>

#include "probe/fixes/placement/cpu_set.h"

namespace hostprobe::probe {

// In ticks of the kernel's, of all of them together.
struct CpuTimes {
  std::uint64_t idle, all;
  unsigned cpus;  // of which it says so
};

// Those of `cpus` that the text has, the begin of /proc/stat. False: it has none.
bool parse_cpu_times(const char* stat, const CpuSet& cpus, CpuTimes& out);
// `ours`: ticks that do not count as use, of those who polled.
unsigned idle_cpus(const CpuTimes& before, const CpuTimes& now, std::uint64_t ours);

}  // namespace hostprobe::probe
