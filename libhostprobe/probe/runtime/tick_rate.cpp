// tick_rate.cpp: see tick_rate.h.
#include "probe/runtime/tick_rate.h"

#include "probe/record/limits.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/identity.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/stacks/stacks.h"
#include "probe/control/budget.h"

namespace hostprobe::probe {
namespace {

// A guess, until the writer has measured; a forked child goes on with the parent's.
HP_KEPT_BY_CHILDREN double g_ticks_per_us = 2500;

}  // namespace

std::uint64_t ticks_of(std::uint64_t us) {
  return static_cast<std::uint64_t>(static_cast<double>(us) * g_ticks_per_us);
}

void apply_limits() {
  set_stack_ticks(g_ticks_per_us, times_rarer());
  take_first_stacks_only(detail_shed() >= kShedShortWaits);
  g_limits.polled_ticks = ticks_of(limit_us(g_options.poll_us));
  g_limits.wait_ticks = ticks_of(limit_us(g_options.wait_us));
  g_limits.io_ticks = ticks_of(limit_us(g_options.io_us));
  g_limits.stall_ticks = ticks_of(g_options.stall_us);
  g_limits.flight_ticks = ticks_of(g_options.flight_s * 1000000);
}

void refine_tick_rate() {
  ClockPair now = read_clock_pair(), then = load_clock();
  if (now.monotonic_ns <= then.monotonic_ns + 1000000) return;
  g_ticks_per_us =
      static_cast<double>(now.ticks - then.ticks) * 1000.0 / static_cast<double>(now.monotonic_ns - then.monotonic_ns);
  apply_limits();
}

}  // namespace hostprobe::probe
