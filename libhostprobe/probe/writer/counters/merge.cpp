// merge.cpp: see merge.h.
#include "probe/writer/counters/merge.h"

#include <string.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/thread.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"

namespace hostprobe::probe {
namespace {

HP_OF_RECORDING std::uint32_t g_own_entries = 0;
HP_OF_RECORDING std::uint64_t g_since = 0;  // threads that began then or later are merged; 0: none is
HP_OF_RECORDING std::uint64_t g_not_before = 0;
// The shared entry lies now in one of these, now in the other.
HP_OF_RECORDING ThreadEntry* g_now = nullptr;
HP_OF_RECORDING ThreadEntry* g_next = nullptr;
HP_OF_RECORDING std::uint32_t g_owner = 0;

constexpr std::uint32_t kNotYet = ~std::uint32_t{0};

std::uint32_t next_number() { return std::atomic_ref(g_segment.header->merges).load(std::memory_order_relaxed) + 1; }

void set_since(Merged& merged, std::uint32_t number) {
  std::atomic_ref(merged.since).store(number, std::memory_order_release);
}
void set_until(Merged& merged, std::uint32_t number) {
  std::atomic_ref(merged.until).store(number, std::memory_order_release);
}

// From here on it is the sum that holds.
void publish(std::uint32_t number) {
  std::atomic_ref(g_segment.header->merges).store(number, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

ThreadEntry* make_shared_entry(std::uint64_t since) {
  std::uint32_t index = 0;
  ThreadEntry* entry = reserve_thread(index);
  if (entry == nullptr) return nullptr;
  entry->merged = {kNotYet, 0};
  entry->start_ticks = since;
  constexpr char kName[] = "(ended threads)";
  static_assert(sizeof kName == sizeof entry->name);
  memcpy(entry->name, kName, sizeof kName);
  std::atomic_ref(entry->state).store(kThreadMerged, std::memory_order_release);
  return entry;
}

void add(ThreadEntry& sum, const ThreadEntry& entry) {
  ++sum.stands_for;
  sum.records += entry.records;
  sum.lost += entry.lost;
  sum.quiet_calls += entry.quiet_calls;
  sum.own_ticks += entry.own_ticks;
  sum.migrations += entry.migrations;
  sum.skipped += entry.skipped;
  sum.cpu_ns += entry.cpu_ns;
  sum.run_delay_ns += entry.run_delay_ns;
  if (entry.end_ticks > entry.start_ticks) sum.lived_ticks += entry.end_ticks - entry.start_ticks;
  if (entry.end_ticks > sum.end_ticks) sum.end_ticks = entry.end_ticks;
}

void copy_counts(ThreadEntry& to, const ThreadEntry& from) {
  to.stands_for = from.stands_for;
  to.records = from.records;
  to.lost = from.lost;
  to.quiet_calls = from.quiet_calls;
  to.own_ticks = from.own_ticks;
  to.migrations = from.migrations;
  to.skipped = from.skipped;
  to.cpu_ns = from.cpu_ns;
  to.run_delay_ns = from.run_delay_ns;
  to.lived_ticks = from.lived_ticks;
  to.end_ticks = from.end_ticks;
}

void add(Spans& sum, const Spans& spans) {
  sum.ticks += spans.ticks;
  if (spans.max_ticks > sum.max_ticks) sum.max_ticks = spans.max_ticks;
  for (std::uint32_t i = 0; i < kSpanBuckets; ++i) sum.buckets[i] += spans.buckets[i];
}

bool is_in_table(const SiteCounter& row) {
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    const std::uint32_t state = std::atomic_ref(entry.state).load(std::memory_order_acquire);
    if ((state == kThreadLive || state == kThreadEnded) && entry.tid == row.tid &&
        entry.start_ticks == row.thread_start_ticks)
      return true;
  }
  return false;
}

}  // namespace

std::uint32_t own_entries_left() {
  if (g_options.mode == kTrace) return UINT32_MAX;
  if (g_since != 0 || g_own_entries >= g_options.ended_threads) return 0;
  return static_cast<std::uint32_t>(g_options.ended_threads) - g_own_entries;
}

void count_own_entry(std::uint64_t start_ticks) {
  ++g_own_entries;
  bar_from_merging(start_ticks);
}

void bar_from_merging(std::uint64_t start_ticks) {
  if (g_since == 0 && g_not_before <= start_ticks) g_not_before = start_ticks + 1;
}

// Where the table is full: a little later.
void begin_merging() {
  const std::uint64_t since = g_not_before;
  if (g_now == nullptr) g_now = make_shared_entry(since);
  if (g_now != nullptr && g_next == nullptr) g_next = make_shared_entry(since);
  if (g_next == nullptr) return;
  g_now->start_ticks = g_next->start_ticks = since;
  g_owner = static_cast<std::uint32_t>(g_now - g_segment.threads);
  g_since = since;
}

void merge_only_later_threads() { g_not_before = ticks(); }

bool is_merging() { return g_since != 0; }

bool merges_from(std::uint64_t start_ticks) {
  return is_merging() && start_ticks >= g_since && start_ticks >= g_not_before;
}

bool is_merged_row(const SiteCounter& row) { return row.tid == 0 && row.thread_start_ticks == g_since && g_since != 0; }

bool was_merged(const SiteCounter& row) {
  return merges_from(row.thread_start_ticks) && !is_merged_row(row) && !is_in_table(row);
}

void merge_entries(const std::uint32_t* ended, std::uint32_t count) {
  if (count == 0) return;
  const std::uint32_t number = next_number();
  set_since(g_next->merged, number);
  set_until(g_next->merged, 0);
  copy_counts(*g_next, *g_now);
  for (std::uint32_t k = 0; k < count; ++k) {
    add(*g_next, g_segment.threads[ended[k]]);
    set_until(g_segment.threads[ended[k]].merged, number);
  }
  set_until(g_now->merged, number);
  publish(number);
  ThreadEntry* before = g_now;
  g_now = g_next;
  g_next = before;
}

void merge_rows(SiteCounter& from, SiteCounter* into, SiteCounter& free) {
  const std::uint32_t number = next_number();
  set_since(free.merged, number);
  set_until(free.merged, 0);
  free.thread_start_ticks = g_since;
  free.tid = 0;
  free.waker_tid = from.waker_tid;
  free.object = from.object;
  free.amount = from.amount + (into == nullptr ? 0 : into->amount);
  free.time = from.time;
  free.wake = from.wake;
  if (into != nullptr) {
    add(free.time, into->time);
    add(free.wake, into->wake);
    set_until(into->merged, number);
  }
  std::atomic_ref(free.key).store(from.key, std::memory_order_release);
  set_until(from.merged, number);
  publish(number);
}

std::uint32_t shared_owner() { return g_owner; }

const ThreadEntry* merged_entry() { return g_since == 0 || g_now->stands_for == 0 ? nullptr : g_now; }

}  // namespace hostprobe::probe
