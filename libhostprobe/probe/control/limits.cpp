// limits.cpp: see limits.h.
#include "probe/control/limits.h"

#include "probe/record/detail.h"
#include "probe/record/limits.h"
#include "probe/runtime/options.h"
#include "probe/runtime/tick_rate.h"
#include "probe/stacks/stacks.h"

namespace hostprobe::probe {

void apply_limits() {
  set_stack_ticks(ticks_per_us(), times_rarer());
  take_first_stacks_only(detail_shed() >= kShedShortWaits);
  g_limits.polled_ticks = ticks_of(limit_us(g_options.poll_us));
  g_limits.wait_ticks = ticks_of(limit_us(g_options.wait_us));
  g_limits.io_ticks = ticks_of(limit_us(g_options.io_us));
  g_limits.stall_ticks = ticks_of(g_options.stall_us);
  g_limits.flight_ticks = ticks_of(g_options.flight_s * 1000000);
}

void refresh_limits() {
  if (refine_tick_rate()) apply_limits();
}

}  // namespace hostprobe::probe
