// own_cost.cpp: see own_cost.h.
#include "probe/control/own_cost.h"

#include "format/own_cost.h"
#include "probe/record/own_work.h"
#include "probe/runtime/clock.h"
#include "probe/sources/sources.h"
#include "probe/writer/counters/totals.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {

CostReading read_cost() {
  const Totals all = totals_so_far();
  const SourcesCost sources = sources_cost();
  const double calls = recording_ticks(all.made, all.aggregated, g_header.record_cost_ticks) +
                       quiet_ticks(all.quiet_calls, all.skipped, g_header.quiet_cost_ticks);
  const auto slow = static_cast<double>(all.own_ticks);
  CostReading reading;
  reading.ns = read_clock_ns(CLOCK_MONOTONIC);
  reading.ticks = ticks();
  reading.own_ticks = calls + slow + sources.all();
  reading.writer_ns = g_header.writer_cpu_ns;
  reading.process_cpu_ns = g_header.process_cpu_ns;
  reading.levels[kShedSwitches] = {sources.switches, own_work_ns(kShedSwitches)};
  reading.levels[kShedStacks] = {slow + sources.samples, own_work_ns(kShedStacks)};
  reading.levels[kShedLaunches] = {calls, own_work_ns(kShedLaunches)};
  reading.levels[kShedShortWaits] = {calls + sources.samples, own_work_ns(kShedLaunches) + own_work_ns(kShedStacks)};
  return reading;
}

CostReading cost_at_start() {
  CostReading reading;
  reading.ns = g_header.first.monotonic_ns;
  reading.ticks = g_header.first.ticks;
  return reading;
}

Cost cost_between(const CostReading& from, const CostReading& to) {
  if (to.ns <= from.ns || to.ticks <= from.ticks) return {};
  const auto wall_ns = static_cast<double>(to.ns - from.ns);
  const double ns_per_tick = wall_ns / static_cast<double>(to.ticks - from.ticks);
  const auto used_ns = static_cast<double>(to.process_cpu_ns - from.process_cpu_ns);
  const double threads_ns = (to.own_ticks - from.own_ticks) * ns_per_tick;
  const auto own_ns = static_cast<double>(to.writer_ns - from.writer_ns);
  const double all_ns = threads_ns + own_ns;
  const auto thousandths = [](double share) { return static_cast<std::uint64_t>(share * 100000 + 0.5); };
  Cost cost;
  cost.threads = thousandths(threads_ns / wall_ns);
  cost.own_thread = thousandths(own_ns / wall_ns);
  cost.cpu = thousandths(all_ns / (used_ns > wall_ns ? used_ns : wall_ns));
  for (unsigned level = 0; level < kShedLevels && all_ns > 0; ++level) {
    const LevelCost &before = from.levels[level], &after = to.levels[level];
    cost.of_level[level] =
        ((after.ticks - before.ticks) * ns_per_tick + static_cast<double>(after.own_ns - before.own_ns)) / all_ns;
  }
  return cost;
}

}  // namespace hostprobe::probe
