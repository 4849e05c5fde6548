// own_work.h: what hostprobe's own thread spends its CPU time on, by the level of detail that would spare it.
//
// Room 2 (probe/). The own thread, or whoever ends the trace. Most work is so short that nothing else ran meanwhile, and then the clock of the
// day says it: the thread's CPU clock is a system call, and there would be a dozen in each wake. Where work was longer, others may
// have had the CPU for a part of it, and the CPU clock bounds it.
#pragma once

#include <cstdint>

#include "probe/record/detail.h"
#include "probe/runtime/clock.h"

namespace hostprobe::probe {

extern std::uint64_t g_own_work_ns[kShedLevels];

// So far. What is counted nowhere goes on at any level.
inline std::uint64_t own_work_ns(Shed level) { return g_own_work_ns[level]; }

// Of so much time by the clock of the day, what was this thread's.
std::uint64_t own_part_of(std::uint64_t passed_ns);

template <class Work>
void work_for(Shed level, Work work) {
  constexpr std::uint64_t kShortNs = 50000;
  const std::uint64_t before_ns = read_clock_ns(CLOCK_MONOTONIC);
  work();
  const std::uint64_t passed_ns = read_clock_ns(CLOCK_MONOTONIC) - before_ns;
  g_own_work_ns[level] += passed_ns < kShortNs ? passed_ns : own_part_of(passed_ns);
}

}  // namespace hostprobe::probe
