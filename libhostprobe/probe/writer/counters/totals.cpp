// totals.cpp: see totals.h.
#include "probe/writer/counters/totals.h"

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/short_waits.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/file/counter_block.h"
#include "probe/writer/file/record_block.h"

namespace hostprobe::probe {

HP_OF_RECORDING Totals g_ended_totals{};

HP_READS_LIVE_COUNTS void add_entry(Totals& totals, const ThreadEntry& entry) {
  totals.records += entry.lost;
  totals.lost += entry.lost;
  totals.own_ticks += entry.own_ticks;
  totals.quiet_calls += entry.quiet_calls;
  totals.skipped += entry.skipped;
  totals.made += entry.records;
}

Totals sum_of_threads() {
  Totals sum = g_ended_totals;
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    // One that has ended since is not among the totals yet.
    std::uint32_t state = std::atomic_ref(g_segment.threads[i].state).load(std::memory_order_acquire);
    if (state == kThreadLive || state == kThreadEnded) add_entry(sum, g_segment.threads[i]);
  }
  return sum;
}

bool is_of_waits(const SiteCounter& counters) { return sum_site(counters.key) != kSiteSkipped; }

Totals totals_so_far() {
  Totals sum = sum_of_threads();
  for (std::uint32_t i = 0; i < g_segment.header->short_count; ++i)
    if (std::atomic_ref(g_short_owners[i]).load(std::memory_order_acquire) != 0)
      if (is_of_waits(g_segment.shorts[i])) sum.aggregated += count_of(g_segment.shorts[i].time);
  return sum;
}

std::uint64_t records_in_memory() {
  std::uint64_t sum = 0;
  std::uint32_t ready = std::atomic_ref(g_segment.header->chunks_ready).load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < ready; ++i) {
    const ChunkHead* chunk = chunk_at(i);
    if (std::atomic_ref(chunk_at(i)->state).load(std::memory_order_acquire) == kChunkFree) continue;
    std::uint32_t begin = chunk->drained > chunk->aggregated ? chunk->drained : chunk->aggregated;
    sum += first_incomplete(chunk) - begin;
  }
  return sum;
}

}  // namespace hostprobe::probe
