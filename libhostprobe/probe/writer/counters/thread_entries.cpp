// thread_entries.cpp: see thread_entries.h.
#include "probe/writer/counters/thread_entries.h"

#include <sys/uio.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/thread.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/counters/merge.h"
#include "probe/writer/counters/short_wait_rows.h"
#include "probe/writer/counters/site_rows.h"
#include "probe/writer/counters/totals.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint32_t kBatch = 256;  // entries that one block takes
HP_KEPT_BY_CHILDREN ThreadEntry g_changed[kBatch];

HP_READS_LIVE_COUNTS bool changed(std::uint32_t index, const ThreadEntry& entry) {
  std::uint64_t open = entry.open.key == 0 ? 0 : entry.open.begin_ticks;
  ThreadNote& note = note_of(index);
  if (note.written_cpu == entry.cpu_ns && note.written_records == entry.records && note.written_open == open)
    return false;
  note.written_open = open;
  note.written_cpu = entry.cpu_ns;
  note.written_records = entry.records;
  return true;
}

HP_READS_LIVE_COUNTS void copy_words(ThreadEntry& to, const ThreadEntry& from) {
  auto* out = reinterpret_cast<std::uint64_t*>(&to);
  auto* in = reinterpret_cast<const std::uint64_t*>(&from);
  for (std::size_t i = 0; i < sizeof from / sizeof *in; ++i) out[i] = __atomic_load_n(in + i, __ATOMIC_RELAXED);
}

bool write_changed(std::uint32_t count) {
  if (count == 0) return true;
  iovec part{g_changed, count * sizeof(ThreadEntry)};
  return append_block(kBlockThreads, &part, 1);
}

// Living entries, all or when something changed. False: not all of them were taken by the file.
bool write_living_threads(bool all) {
  std::uint32_t count = 0;
  bool written = true;
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    if (!is_live(entry) || (!all && !changed(i, entry))) continue;
    copy_words(g_changed[count++], entry);
    if (count < kBatch) continue;
    written = write_changed(count) && written;
    count = 0;
  }
  return write_changed(count) && written;
}

// Entries that ended. Those of their own stay until they are in the file: they say what is lost when the process is killed, or
// its file is never complete.
class EndedEntries {
 public:
  explicit EndedEntries(bool merged) : merged_(merged) {}
  void add(std::uint32_t index) {
    if (!merged_) copy_words(g_changed[count_], g_segment.threads[index]);
    ended_[count_++] = index;
    if (count_ == kBatch) retire();
  }
  void retire() {
    if (merged_)
      merge_entries(ended_, count_);
    else if (!write_changed(count_))
      count_ = 0;
    for (std::uint32_t k = 0; k < count_; ++k) release(ended_[k]);
    count_ = 0;
  }

 private:
  void release(std::uint32_t i) const {
    if (!merged_) count_own_entry(g_segment.threads[i].start_ticks);
    add_entry(g_ended_totals, g_segment.threads[i]);
    write_last_short_waits(i, merged_);
    note_of(i) = {};
    release_thread(&g_segment.threads[i]);
  }

  bool merged_;
  std::uint32_t ended_[kBatch];
  std::uint32_t count_ = 0;
};

// Ended threads that began before that.
template <class Use>
void each_ended(std::uint64_t before_ticks, Use use) {
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    if (std::atomic_ref(entry.state).load(std::memory_order_acquire) == kThreadEnded &&
        entry.start_ticks < before_ticks)
      use(i);
  }
}

std::uint32_t ended_before(std::uint64_t start_ticks) {
  std::uint32_t count = 0;
  each_ended(start_ticks, [&](std::uint32_t) { ++count; });
  return count;
}

// When at most `most` of the ended threads had begun, or now. However late the writer comes, the oldest ones have entries of their own
// and no more do, so that the file does not depend on how busy the machine is.
std::uint64_t start_behind_oldest(std::uint32_t most) {
  std::uint64_t few = 0, many = ticks();
  if (most >= threads_used() || ended_before(many) <= most) return many;
  while (few + 1 < many) {
    const std::uint64_t middle = few + (many - few) / 2;
    (ended_before(middle) <= most ? few : many) = middle;
  }
  return few;
}

}  // namespace

bool is_live(ThreadEntry& entry) { return std::atomic_ref(entry.state).load(std::memory_order_acquire) == kThreadLive; }

std::uint32_t living_threads() {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) count += is_live(g_segment.threads[i]);
  return count;
}

ChunkHead* open_chunk_of(ThreadEntry& entry) {
  if (!is_live(entry)) return nullptr;
  std::uint32_t index = std::atomic_ref(entry.chunk).load(std::memory_order_acquire);
  if (index == 0 || index > g_segment.header->chunk_count) return nullptr;
  ChunkHead* chunk = chunk_at(index - 1);
  return chunk->tid == entry.tid && chunk->thread_start_ticks == entry.start_ticks ? chunk : nullptr;
}

void write_changed_threads() {
  if (write_living_threads(false)) return;
  // All of them again next time.
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) note_of(i).written_cpu = ~std::uint64_t{0};
}

void write_all_threads() { write_living_threads(true); }

void write_shared_entry() {
  if (merged_entry() == nullptr) return;
  copy_words(g_changed[0], *merged_entry());
  write_changed(1);
}

// What was living when the counters were written for the last time has an entry of its own.
void drain_ended_threads(bool last) {
  if (!last && own_entries_left() != 0) {
    EndedEntries first(false);
    each_ended(start_behind_oldest(own_entries_left()), [&](std::uint32_t i) { first.add(i); });
    first.retire();
    if (own_entries_left() != 0) return;
  }
  if (!last && !is_merging() && has_free_row()) begin_merging();
  EndedEntries own(false), merged(true);
  each_ended(UINT64_MAX,
             [&](std::uint32_t i) { (!last && merges_from(g_segment.threads[i].start_ticks) ? merged : own).add(i); });
  own.retire();
  merged.retire();
}

}  // namespace hostprobe::probe
