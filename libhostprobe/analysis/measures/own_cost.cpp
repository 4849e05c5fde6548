// own_cost.cpp: see own_cost.h.
#include "own_cost.h"

#include <algorithm>

#include "format/own_cost.h"

namespace hostprobe::analysis {

std::optional<OwnCost> own_cost(const Trace& trace) {
  const FileHeader& header = trace.header;
  if (!trace.header_whole || header.record_cost_ticks == 0) return std::nullopt;
  std::uint64_t records = 0, aggregated = 0, quiet = 0, skipped = 0, slow_ticks = 0;
  for (const auto& [key, thread] : trace.threads) {
    if (!thread.merged) records += std::max(thread.entry.records, thread.kept);
    quiet += thread.entry.quiet_calls;
    skipped += thread.entry.skipped;
    for (const auto& [place, sum] : thread.short_waits)
      if (sum_site(place) != kSiteSkipped) aggregated += sum.time.count();
    slow_ticks += thread.entry.own_ticks;
  }
  // The header's counters also hold threads whose entries are gone; the threads' own are newer for a live process.
  records = std::max(records, header.records);
  quiet = std::max(quiet, header.quiet_calls);
  slow_ticks = std::max(slow_ticks, header.own_ticks);
  const auto ms = [&trace](double ticks) { return 1e-6 * trace.clock.length_ns(ticks); };
  OwnCost cost;
  cost.records_ms = ms(recording_ticks(records, aggregated, header.record_cost_ticks));
  cost.quiet_ms = ms(quiet_ticks(quiet, skipped, header.quiet_cost_ticks));
  cost.slow_ms = ms(static_cast<double>(slow_ticks));
  cost.writer_ms = 1e-6 * static_cast<double>(trace.writer_cpu_ns);
  return cost;
}

}  // namespace hostprobe::analysis
