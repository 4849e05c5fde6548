// own_work.h: what hostprobe's own thread spends its CPU time on, by the level of detail that would spare it.
//
// Room 2 (probe/). The own thread, or whoever ends the trace; a reading of the thread's CPU clock before and behind the work.
#pragma once

#include <cstdint>

#include "probe/record/detail.h"
#include "probe/runtime/clock.h"

namespace hostprobe::probe {

extern std::uint64_t g_own_work_ns[kShedLevels];

// So far. What is counted nowhere goes on at any level.
inline std::uint64_t own_work_ns(Shed level) { return g_own_work_ns[level]; }

template <class Work>
void work_for(Shed level, Work work) {
  const std::uint64_t before_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  work();
  g_own_work_ns[level] += read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
}

}  // namespace hostprobe::probe
