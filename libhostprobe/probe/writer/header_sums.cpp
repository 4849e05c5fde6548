// header_sums.cpp: see header_sums.h.
#include "probe/writer/header_sums.h"

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/own_work.h"
#include "probe/sources/sources.h"
#include "probe/writer/consumers.h"
#include "probe/writer/counters/aggregate.h"
#include "probe/writer/counters/totals.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {

// What threads say of themselves, and what became of the records that reached a chunk.
void sum_up() {
  Totals sum = sum_of_threads();
  std::uint64_t nobodys = std::atomic_ref(g_segment.header->lost).load(std::memory_order_relaxed);
  g_header.records = sum.records + g_trace_block.slots() + aggregated_slots() + nobodys;
  g_header.lost = sum.lost + g_trace_block.lost() + aggregated_lost() + nobodys;
  for (std::uint32_t i = 0; i < kLossCauses; ++i)
    g_header.lost_by[i] = std::atomic_ref(g_segment.header->lost_by[i]).load(std::memory_order_relaxed);
  const SourcesCost sources = sources_cost();
  g_header.own_ticks = sum.own_ticks + static_cast<std::uint64_t>(sources.all());
  g_header.switch_ticks = static_cast<std::uint64_t>(sources.switches);
  g_header.sample_ticks = static_cast<std::uint64_t>(sources.samples);
  g_header.quiet_calls = sum.quiet_calls;
  g_header.own_records_ns = own_work_ns(kShedLaunches);
  g_header.own_switches_ns = own_work_ns(kShedSwitches);
  g_header.own_samples_ns = own_work_ns(kShedStacks);
}

}  // namespace hostprobe::probe
