// site_rows.cpp: see site_rows.h.
#include "probe/writer/counters/site_rows.h"

#include <string.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/short_waits.h"
#include "probe/record/thread.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/counters/merge.h"
#include "probe/writer/counters/totals.h"
#include "probe/writer/file/counter_block.h"
#include "probe/writer/file/hook_table.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

// Open addressing over row numbers plus 1; never more than half full.
constexpr std::uint32_t kPlaces = 2 * kCounters;
alignas(8) HP_OF_RECORDING std::uint16_t g_places[kPlaces];
HP_OF_RECORDING std::uint32_t g_rows = 0;     // rows that have ever been in use: those before this one
HP_OF_RECORDING std::uint32_t g_used = 0;     // of them, those in use
HP_OF_RECORDING std::uint32_t g_refused = 0;  // times that no room could be made, since it last could

std::uint32_t place_of(std::uint64_t thread_start_ticks, std::uint64_t key, std::uint64_t object) {
  std::uint64_t hash = (thread_start_ticks ^ key * 0x9e3779b97f4a7c15u ^ object) * 0xff51afd7ed558ccdu;
  return static_cast<std::uint32_t>(hash >> 40) % kPlaces;
}

bool is_row_of(const SiteCounter& counters, const ChunkHead& chunk, std::uint64_t key, std::uint64_t object) {
  return counters.key == key && counters.object == object && counters.thread_start_ticks == chunk.thread_start_ticks &&
         counters.tid == chunk.tid;
}

void enter(std::uint32_t row) {
  const SiteCounter& counters = g_segment.counters[row];
  std::uint32_t place = place_of(counters.thread_start_ticks, counters.key, counters.object);
  while (g_places[place] != 0) place = (place + 1) % kPlaces;
  g_places[place] = static_cast<std::uint16_t>(row + 1);
}

bool has_more_to_come(const SiteCounter& counters) {
  if (is_merged_row(counters)) return true;
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    if (std::atomic_ref(entry.state).load(std::memory_order_acquire) == kThreadLive && entry.tid == counters.tid &&
        entry.start_ticks == counters.thread_start_ticks)
      return true;
  }
  std::uint32_t ready = std::atomic_ref(g_segment.header->chunks_ready).load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < ready; ++i) {
    ChunkHead* chunk = chunk_at(i);
    if (std::atomic_ref(chunk->state).load(std::memory_order_acquire) != kChunkFree && chunk->tid == counters.tid &&
        chunk->thread_start_ticks == counters.thread_start_ticks)
      return true;
  }
  return false;
}

// Its key first: while it is being cleared it says less than the row in the file, and with as many calls it would count.
void free_row(SiteCounter& counters) {
  std::atomic_ref(counters.key).store(0, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  clear_spans(counters.time);
  clear_spans(counters.wake);
  counters.amount = counters.object = 0;
  counters.waker_tid = 0;
  counters.merged = {};
  --g_used;
}

std::uint32_t free_row_number() {
  if (g_rows < g_segment.header->sum_count) return g_rows++;
  std::uint32_t row = 0;
  while (g_segment.counters[row].key != 0) ++row;
  return row;
}

// Rows that are merged into. `free` is the number of a free one, here and afterwards.
HP_OF_RECORDING std::uint16_t g_shared[kCounters];
HP_OF_RECORDING std::uint32_t g_shared_count = 0;

void merge_row(SiteCounter& row, std::uint32_t& free) {
  std::uint32_t i = 0;
  for (; i < g_shared_count; ++i) {
    const SiteCounter& shared = g_segment.counters[g_shared[i]];
    if (shared.key == row.key && shared.object == row.object) break;
  }
  SiteCounter* into = i < g_shared_count ? &g_segment.counters[g_shared[i]] : nullptr;
  merge_rows(row, into, g_segment.counters[free]);
  ++g_used;
  if (into != nullptr)
    free_row(*into);
  else
    ++g_shared_count;
  g_shared[i] = static_cast<std::uint16_t>(free);
  free_row(row);
  free = static_cast<std::uint32_t>(&row - g_segment.counters);
}

void enter_all() {
  memset(g_places, 0, sizeof g_places);
  for (std::uint32_t i = 0; i < g_rows; ++i)
    if (g_segment.counters[i].key != 0) enter(i);
}

// One row stays free for merging, once that has begun.
bool is_full() { return g_used + (is_merging() ? 1 : 0) >= g_segment.header->sum_count; }

void settle(SiteCounter& row, std::uint32_t& free) {
  if (row.key == 0 || has_more_to_come(row)) return;
  if (was_merged(row)) {
    merge_row(row, free);
  } else if (!merges_from(row.thread_start_ticks) && write_hook_table() && write_row(kBlockCounters, row)) {
    bar_from_merging(row.thread_start_ticks);
    free_row(row);
  }
}

// A look through everything: where it was in vain, not for each record again.
bool make_room() {
  constexpr std::uint32_t kPause = 4096;
  if (g_refused++ % kPause != 0) return false;
  std::uint32_t free = is_merging() ? free_row_number() : 0;
  for (std::uint32_t i = 0, end = g_rows; i < end; ++i) settle(g_segment.counters[i], free);
  enter_all();
  if (is_full()) return false;
  g_refused = 0;
  return true;
}

SiteCounter* new_row(const ChunkHead& chunk, std::uint64_t key, std::uint64_t object) {
  if (is_full() && !make_room()) return nullptr;
  std::uint32_t row = free_row_number();
  SiteCounter& counters = g_segment.counters[row];
  counters.thread_start_ticks = chunk.thread_start_ticks;
  counters.tid = chunk.tid;
  counters.object = object;
  std::atomic_ref(counters.key).store(key, std::memory_order_release);
  ++g_used;
  enter(row);
  return &counters;
}

// Those of threads that have been merged, as all that they did has been aggregated.
void merge_ended_rows() {
  if (!is_merging()) return;
  std::uint32_t free = free_row_number();
  for (std::uint32_t i = 0, end = g_rows; i < end; ++i)
    if (SiteCounter& row = g_segment.counters[i]; row.key != 0 && was_merged(row)) merge_row(row, free);
  enter_all();
}

}  // namespace

SiteCounter* site_row(const ChunkHead& chunk, std::uint64_t key, std::uint64_t object) {
  std::uint32_t place = place_of(chunk.thread_start_ticks, key, object);
  for (; g_places[place] != 0; place = (place + 1) % kPlaces) {
    SiteCounter& counters = g_segment.counters[g_places[place] - 1u];
    if (is_row_of(counters, chunk, key, object)) return &counters;
  }
  return new_row(chunk, key, object);
}

bool has_free_row() { return g_used < g_segment.header->sum_count; }

void write_last_rows() {
  merge_ended_rows();
  const std::uint64_t refused = write_all_rows(kBlockCounters);
  g_ended_totals.lost += refused;
  g_header.lost_in_file += refused;
}

std::uint64_t write_all_rows(BlockKind kind) {
  std::uint64_t refused = 0;
  for (std::uint32_t i = 0; i < g_rows; ++i) {
    const SiteCounter& counters = g_segment.counters[i];
    if (counters.key != 0 && !(write_hook_table() && write_row(kind, counters))) refused += count_of(counters.time);
  }
  return refused;
}

}  // namespace hostprobe::probe
