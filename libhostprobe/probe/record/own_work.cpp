// own_work.cpp: see own_work.h.
#include "probe/record/own_work.h"

#include "probe/runtime/of_process.h"

namespace hostprobe::probe {

HP_OF_PROCESS std::uint64_t g_own_work_ns[kShedLevels]{};

// Since the clock was last read for this the thread has not used more.
std::uint64_t own_part_of(std::uint64_t passed_ns) {
  HP_OF_PROCESS static std::uint64_t g_read_ns = 0;
  const std::uint64_t now_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  // Of another thread, which writes in its place.
  const std::uint64_t used_ns = now_ns > g_read_ns ? now_ns - g_read_ns : passed_ns;
  g_read_ns = now_ns;
  return used_ns < passed_ns ? used_ns : passed_ns;
}

}  // namespace hostprobe::probe
