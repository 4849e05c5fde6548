// short_wait_rows.cpp: see short_wait_rows.h.
#include "probe/writer/counters/short_wait_rows.h"

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/short_waits.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/counters/merge.h"
#include "probe/writer/counters/totals.h"
#include "probe/writer/file/counter_block.h"
#include "probe/writer/file/hook_table.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

HP_OF_RECORDING std::uint64_t g_written_shorts[kShorts];        // ticks, to see a change
HP_OF_RECORDING std::uint64_t g_written_short_counts[kShorts];  // waits, to count those that never get there

bool write_short_waits(std::uint32_t i) {
  const SiteCounter& counters = g_segment.shorts[i];
  std::uint64_t count = count_of(counters.time);
  // Without the table nobody could say which function it was.
  if (!write_hook_table() || !write_row(kBlockShortWaits, counters)) return false;
  g_written_short_counts[i] = count;
  return true;
}

// Row `i` of a thread that is merged, into the shared row of the same place. False: there is no room for that row.
bool merge_short_waits(std::uint32_t i) {
  const std::uint32_t owner = shared_owner(), count = g_segment.header->short_count;
  std::uint32_t fresh = 0, into = 0;
  SiteCounter* free = claim_short_waits(owner, fresh);
  if (free == nullptr) return false;
  const std::uint64_t key = g_segment.shorts[i].key;
  while (into < count && (g_short_owners[into] != owner + 1 || g_segment.shorts[into].key != key)) ++into;
  g_written_shorts[fresh] = g_written_short_counts[fresh] = 0;
  merge_rows(g_segment.shorts[i], into < count ? &g_segment.shorts[into] : nullptr, *free);
  if (into < count) release_short_waits(into);
  g_written_short_counts[i] = 0;
  release_short_waits(i);
  return true;
}

}  // namespace

void write_last_short_waits(std::uint32_t index, bool merged) {
  for (std::uint32_t i = 0; i < g_segment.header->short_count; ++i) {
    if (std::atomic_ref(g_short_owners[i]).load(std::memory_order_acquire) != index + 1) continue;
    g_written_shorts[i] = 0;
    if ((merged && merge_short_waits(i)) || !write_short_waits(i)) continue;
    if (is_of_waits(g_segment.shorts[i])) g_ended_totals.aggregated += g_written_short_counts[i];
    g_written_short_counts[i] = 0;
    release_short_waits(i);
  }
}

HP_READS_LIVE_COUNTS void write_living_short_waits() {
  for (std::uint32_t i = 0; i < g_segment.header->short_count; ++i) {
    if (std::atomic_ref(g_short_owners[i]).load(std::memory_order_acquire) == 0) continue;
    std::uint64_t ticks = __atomic_load_n(&g_segment.shorts[i].time.ticks, __ATOMIC_RELAXED);
    if (ticks != g_written_shorts[i] && write_short_waits(i)) g_written_shorts[i] = ticks;
  }
}

void write_owned_short_waits(BlockKind kind) {
  for (std::uint32_t i = 0; i < g_segment.header->short_count; ++i)
    if (std::atomic_ref(g_short_owners[i]).load(std::memory_order_acquire) != 0) write_row(kind, g_segment.shorts[i]);
}

void count_lost_short_waits() {
  for (std::uint32_t i = 0; i < g_segment.header->short_count && g_file.error != 0; ++i) {
    if (std::atomic_ref(g_short_owners[i]).load(std::memory_order_acquire) == 0) continue;
    std::uint64_t count = count_of(g_segment.shorts[i].time) - g_written_short_counts[i];
    g_ended_totals.records += count;
    g_ended_totals.lost += count;
    g_header.lost_in_file += count;
  }
}

}  // namespace hostprobe::probe
