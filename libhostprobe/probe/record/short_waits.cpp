// short_waits.cpp: see short_waits.h. Taking a place is cold: once per thread and place.
#include "probe/record/short_waits.h"

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/shelter.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/signal_frame.h"

namespace hostprobe::probe {

HP_OF_PROCESS std::uint16_t g_short_owners[kShorts];

namespace {

constexpr std::uint64_t kBeingTaken = 1;  // no key: hook 0 does not exist
HP_OF_PROCESS std::atomic<std::uint32_t> g_next{0};

SiteCounter* take(std::uint64_t key) {
  std::uint32_t start = g_next.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < g_segment.header->short_count; ++i) {
    std::uint32_t index = (start + i) % g_segment.header->short_count;
    SiteCounter& counters = g_segment.shorts[index];
    std::uint64_t free = 0;
    if (!std::atomic_ref(counters.key).compare_exchange_strong(free, kBeingTaken, std::memory_order_acq_rel)) continue;
    counters.tid = t_local.tid;
    counters.thread_start_ticks = t_local.entry->start_ticks;
    counters.waker_tid = 0;
    std::atomic_ref(counters.key).store(key, std::memory_order_release);
    std::atomic_ref(g_short_owners[index])
        .store(static_cast<std::uint16_t>(t_local.index + 1), std::memory_order_release);
    return &counters;
  }
  return nullptr;
}

void take_sheltered(ThreadLocal& t, std::uint64_t key, ShortPlace& place) {
  if (place.key != 0) return;      // a signal handler was quicker
  if (t.entry == nullptr) return;  // or has forked, and this is the child
  std::uint64_t begin = ticks();
  place.counters = take(key);
  if (place.counters != nullptr) place.key = key;
  count_own_ticks(ticks() - begin);
}

SiteCounter* take_place(ThreadLocal& t, std::uint64_t key, ShortPlace& place) {
  if (t.taking || !attach_thread()) return nullptr;
  bool writer_may_start = false;
  {
    Shelter shelter;
    take_sheltered(t, key, place);
    writer_may_start = writer_is_due(false) && !in_signal_handler(shelter.blocked_before());
  }
  if (writer_may_start) start_writer();
  return place.key == key ? place.counters : nullptr;
}

}  // namespace

SiteCounter* short_waits_of(const Hook& hook, const void* site) {
  ThreadLocal& t = t_local;
  std::uint64_t key = pack_place(reinterpret_cast<std::uint64_t>(site), hook.number);
  for (ShortPlace& place : t.short_places) {
    if (HP_LIKELY(place.key == key)) return place.counters;
    if (place.key == 0) return take_place(t, key, place);
  }
  return nullptr;
}

SiteCounter* claim_short_waits(std::uint32_t owner, std::uint32_t& index) {
  for (index = 0; index < g_segment.header->short_count; ++index) {
    SiteCounter& counters = g_segment.shorts[index];
    std::uint64_t free = 0;
    if (!std::atomic_ref(counters.key).compare_exchange_strong(free, kBeingTaken, std::memory_order_acq_rel)) continue;
    std::atomic_ref(g_short_owners[index]).store(static_cast<std::uint16_t>(owner + 1), std::memory_order_release);
    return &counters;
  }
  return nullptr;
}

// Its key first: half cleared, with as many waits as the row in the file, it would count instead of that.
void release_short_waits(std::uint32_t i) {
  std::atomic_ref(g_segment.shorts[i].key).store(kBeingTaken, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  clear_spans(g_segment.shorts[i].time);
  clear_spans(g_segment.shorts[i].wake);
  g_segment.shorts[i].merged = {};
  std::atomic_ref(g_short_owners[i]).store(0, std::memory_order_relaxed);
  std::atomic_ref(g_segment.shorts[i].key).store(0, std::memory_order_release);
}

}  // namespace hostprobe::probe
