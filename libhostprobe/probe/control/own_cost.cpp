// own_cost.cpp: see own_cost.h.
#include "probe/control/own_cost.h"

#include "format/own_cost.h"
#include "probe/runtime/clock.h"
#include "probe/sources/sources.h"
#include "probe/writer/counters/totals.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {

CostReading read_cost() {
  Totals all = totals_so_far();
  double own_ticks = recording_ticks(all.made, all.aggregated, g_header.record_cost_ticks) +
                     quiet_ticks(all.quiet_calls, all.skipped, g_header.quiet_cost_ticks) +
                     static_cast<double>(all.own_ticks) + sources_cost().all();
  return {read_clock_ns(CLOCK_MONOTONIC), ticks(), own_ticks, g_header.writer_cpu_ns};
}

CostReading cost_at_start() { return {g_header.first.monotonic_ns, g_header.first.ticks, 0, 0}; }

std::uint64_t cost_between(const CostReading& from, const CostReading& to) {
  if (to.ns <= from.ns || to.ticks <= from.ticks) return 0;
  double share = (to.own_ticks - from.own_ticks) / static_cast<double>(to.ticks - from.ticks) +
                 static_cast<double>(to.writer_ns - from.writer_ns) / static_cast<double>(to.ns - from.ns);
  return static_cast<std::uint64_t>(share * 100000 + 0.5);
}

}  // namespace hostprobe::probe
