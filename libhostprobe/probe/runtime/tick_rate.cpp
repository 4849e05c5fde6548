// tick_rate.cpp: see tick_rate.h.
#include "probe/runtime/tick_rate.h"

#include "probe/runtime/clock.h"
#include "probe/runtime/identity.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

// A guess, until the writer has measured; a forked child goes on with the parent's.
HP_KEPT_BY_CHILDREN double g_ticks_per_us = 2500;

}  // namespace

std::uint64_t ticks_of(std::uint64_t us) {
  return static_cast<std::uint64_t>(static_cast<double>(us) * g_ticks_per_us);
}

double ticks_per_us() { return g_ticks_per_us; }

bool refine_tick_rate() {
  ClockPair now = read_clock_pair(), then = load_clock();
  if (now.monotonic_ns <= then.monotonic_ns + 1000000) return false;
  g_ticks_per_us =
      static_cast<double>(now.ticks - then.ticks) * 1000.0 / static_cast<double>(now.monotonic_ns - then.monotonic_ns);
  return true;
}

}  // namespace hostprobe::probe
