// drain.cpp: see drain.h. A record is taken only when it carries the lap of its chunk: that is its mark of completeness.
#include "probe/writer/drain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/short_waits.h"
#include "probe/record/thread.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/small_file.h"
#include "probe/stacks/stacks.h"
#include "probe/writer/counters/aggregate.h"
#include "probe/writer/file/counter_block.h"
#include "probe/writer/file/hook_table.h"
#include "probe/writer/file/record_block.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/flight.h"
#include "probe/writer/steps/live_steps.h"
#include "probe/writer/counters/merge.h"
#include "probe/writer/counters/site_rows.h"
#include "probe/sources/switches.h"

namespace hostprobe::probe {
namespace {

HP_OF_RECORDING RecordBlock g_block;
HP_OF_RECORDING std::uint64_t g_written_shorts[kShorts];        // ticks, to see a change
HP_OF_RECORDING std::uint64_t g_written_short_counts[kShorts];  // waits, to count those that never get there
HP_OF_RECORDING std::uint32_t g_strings_written = 0;
alignas(8) HP_OF_RECORDING bool g_stack_written[kStacks];
HP_OF_RECORDING std::uint32_t g_stacks_written = 0;

// What the header says in sum: threads ended so far, to which come g_block's records and, each time, the living ones.
HP_OF_RECORDING Totals g_totals{};

// So many full chunks that one block can hold them, and no more than a quarter of all, so that the threads do not run
// short; those of a thread side by side.
std::uint32_t take_full_chunks(ChunkHead** chunks) {
  std::uint32_t most = g_segment.header->chunk_count / 4 + 1;
  std::uint32_t count = next_full_chunks(chunks, most < RecordBlock::kMostChunks ? most : RecordBlock::kMostChunks);
  sort_by_thread(chunks, count);
  return count;
}

void write_slots(ChunkHead* chunk, std::uint32_t end) {
  g_block.add(chunk, end);
  g_block.write();
}

// A chunk that nobody fills any more.
void retire(ChunkHead* chunk) {
  see_records(chunk, last_complete(chunk));
  if (g_options.mode == kFlight) return keep_chunk(chunk);
  if (g_options.mode == kMonitor)
    aggregate(chunk, last_complete(chunk));
  else
    write_slots(chunk, last_complete(chunk));
  recycle_chunk(chunk);
}

bool read_line(std::uint32_t tid, const char* file, char* out, std::size_t bytes) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%u/%s", tid, file);
  return read_small_file(path, out, bytes);
}

// Two small reads per living thread; writer.cpp spaces them so that a thousand threads cost no more than ten.
void read_from_kernel(ThreadEntry& entry) {
  char line[96];
  if (read_line(entry.tid, "schedstat", line, sizeof line)) {
    char* next = nullptr;
    entry.cpu_ns = strtoull(line, &next, 10);
    entry.run_delay_ns = strtoull(next, &next, 10);
    note_run_count(entry.tid, entry.created_ticks, strtoull(next, nullptr, 10));
  }
  if (read_line(entry.tid, "comm", line, sizeof line)) {
    std::size_t length = strcspn(line, "\n");
    if (length >= sizeof entry.name) length = sizeof entry.name - 1;
    memcpy(entry.name, line, length);
    entry.name[length] = 0;
  }
}

// The owner of an entry counts in plain words while we read them; each is read whole, and a count that is one behind is
// right a moment later. Thread sanitizer is told so.
#define HP_READS_LIVE_COUNTS __attribute__((no_sanitize("thread")))

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

HP_READS_LIVE_COUNTS void add(Totals& totals, const ThreadEntry& entry) {
  totals.records += entry.lost;
  totals.lost += entry.lost;
  totals.own_ticks += entry.own_ticks;
  totals.quiet_calls += entry.quiet_calls;
  totals.skipped += entry.skipped;
  totals.made += entry.records;
}

Totals sum_of_threads() {
  Totals sum = g_totals;
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    // One that has ended since is not among the totals yet.
    std::uint32_t state = std::atomic_ref(g_segment.threads[i].state).load(std::memory_order_acquire);
    if (state == kThreadLive || state == kThreadEnded) add(sum, g_segment.threads[i]);
  }
  return sum;
}

void sum_up() {
  Totals sum = sum_of_threads();
  std::uint64_t nobodys = std::atomic_ref(g_segment.header->lost).load(std::memory_order_relaxed);
  g_header.records = sum.records + g_block.slots() + aggregated_slots() + nobodys;
  g_header.lost = sum.lost + g_block.lost() + aggregated_lost() + nobodys;
  for (std::uint32_t i = 0; i < kLossCauses; ++i)
    g_header.lost_by[i] = std::atomic_ref(g_segment.header->lost_by[i]).load(std::memory_order_relaxed);
  g_header.own_ticks = sum.own_ticks + static_cast<std::uint64_t>(switch_ticks());
  g_header.quiet_calls = sum.quiet_calls;
}

HP_READS_LIVE_COUNTS void copy_words(ThreadEntry& to, const ThreadEntry& from) {
  auto* out = reinterpret_cast<std::uint64_t*>(&to);
  auto* in = reinterpret_cast<const std::uint64_t*>(&from);
  for (std::size_t i = 0; i < sizeof from / sizeof *in; ++i) out[i] = __atomic_load_n(in + i, __ATOMIC_RELAXED);
}

constexpr std::uint32_t kBatch = 256;  // entries that one block takes
HP_KEPT_BY_CHILDREN ThreadEntry g_changed[kBatch];
bool write_changed(std::uint32_t count) {
  if (count == 0) return true;
  iovec part{g_changed, count * sizeof(ThreadEntry)};
  return append_block(kBlockThreads, &part, 1);
}

// A thread that ended without our seeing it (a raw exit system call, a wait after its last destructor): its chunk has no
// owner any more, and no slot that is still empty will be filled.
bool end_if_gone(ThreadEntry& entry) {
  if (syscall(SYS_tgkill, getpid(), entry.tid, 0) == 0 || errno != ESRCH) return false;
  std::uint32_t index = std::atomic_ref(entry.chunk).load(std::memory_order_acquire);
  if (index != 0) {
    retire(chunk_at(index - 1));
  }
  entry.chunk = 0;
  entry.end_ticks = ticks();
  std::atomic_ref(entry.state).store(kThreadEnded, std::memory_order_release);
  return true;
}

bool is_live(ThreadEntry& entry) { return std::atomic_ref(entry.state).load(std::memory_order_acquire) == kThreadLive; }

void ask_kernel_about_threads() {
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    if (is_live(entry) && !end_if_gone(entry)) read_from_kernel(entry);
  }
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

void write_shared_entry() {
  if (merged_entry() == nullptr) return;
  copy_words(g_changed[0], *merged_entry());
  write_changed(1);
}

void write_changed_threads() {
  if (write_living_threads(false)) return;
  // All of them again next time.
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) note_of(i).written_cpu = ~std::uint64_t{0};
}

void write_strings() {
  std::uint32_t used = std::atomic_ref(g_segment.header->strings_used).load(std::memory_order_acquire);
  std::uint32_t end = g_strings_written;
  // Up to the first one that is not complete yet.
  while (end < used) {
    auto* head = reinterpret_cast<StringHead*>(g_segment.strings + end);
    std::uint32_t length = std::atomic_ref(head->length).load(std::memory_order_acquire);
    if (length == 0) break;
    end += static_cast<std::uint32_t>(sizeof(StringHead) + (length + 7) / 8 * 8);
  }
  if (end == g_strings_written) return;
  StringsHead head{g_strings_written, end - g_strings_written};
  iovec parts[] = {{&head, sizeof head}, {g_segment.strings + head.offset, head.bytes}};
  if (append_block(kBlockStrings, parts, 2)) g_strings_written = end;
}

void write_stacks() {
  std::uint32_t added = g_stacks_added.load(std::memory_order_acquire);
  if (added == g_stacks_written) return;
  std::uint32_t written = 0;
  for (std::uint32_t i = 0; i < kStacks; ++i) {
    StackEntry& entry = g_segment.stacks[i];
    if (std::atomic_ref(entry.ready).load(std::memory_order_acquire) == 0) continue;
    StacksHead head{i, 1};
    iovec parts[] = {{&head, sizeof head}, {&entry, sizeof entry}};
    if (!g_stack_written[i]) g_stack_written[i] = append_block(kBlockStacks, parts, 2);
    if (g_stack_written[i]) ++written;
  }
  g_stacks_written = written;
}

// Not of launches that are only counted: those cost what a quiet call does.
bool is_of_waits(const SiteCounter& counters) { return sum_site(counters.key) != kSiteSkipped; }

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

// Those of thread entry `index`, which has ended: everything, and its places are free again. What the file does not take
// stays where it is, named by thread and place, and is tried again with the living ones.
void write_last_short_waits(std::uint32_t index, bool merged) {
  for (std::uint32_t i = 0; i < g_segment.header->short_count; ++i) {
    if (std::atomic_ref(g_short_owners[i]).load(std::memory_order_acquire) != index + 1) continue;
    g_written_shorts[i] = 0;
    if ((merged && merge_short_waits(i)) || !write_short_waits(i)) continue;
    if (is_of_waits(g_segment.shorts[i])) g_totals.aggregated += g_written_short_counts[i];
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

}  // namespace

void drain_full_chunks() {
  ChunkHead* chunks[RecordBlock::kMostChunks];
  while (std::uint32_t count = take_full_chunks(chunks)) {
    if (g_options.mode != kTrace) {
      for (std::uint32_t i = 0; i < count; ++i) retire(chunks[i]);
      if (g_options.mode == kFlight) age_kept_chunks();
      continue;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t end = last_complete(chunks[i]);
      see_records(chunks[i], end);
      g_block.add(chunks[i], end);
    }
    g_block.write();
    for (std::uint32_t i = 0; i < count; ++i) recycle_chunk(chunks[i]);
  }
}

// A thread that was just handing its chunk over when the process began to exit no longer says that it has one, and has
// not enqueued it yet.
void drain_last_chunks() {
  std::uint32_t ready = std::atomic_ref(g_segment.header->chunks_ready).load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < ready; ++i) {
    ChunkHead* chunk = chunk_at(i);
    if (std::atomic_ref(chunk->state).load(std::memory_order_acquire) == kChunkFree) continue;
    if (g_options.mode == kMonitor)
      aggregate(chunk, last_complete(chunk));
    else
      write_slots(chunk, last_complete(chunk));
  }
  merge_ended_rows();
  std::uint64_t refused = write_sums(kBlockCounters);
  g_totals.lost += refused;
  g_header.lost_in_file += refused;
}

namespace {

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
    if (!merged_) count_own_entries(count_);
    count_ = 0;
  }

 private:
  void release(std::uint32_t i) const {
    probe::add(g_totals, g_segment.threads[i]);
    write_last_short_waits(i, merged_);
    note_of(i) = {};
    release_thread(&g_segment.threads[i]);
  }

  bool merged_;
  std::uint32_t ended_[kBatch];
  std::uint32_t count_ = 0;
};

}  // namespace

// What was living when the counters were written for the last time has an entry of its own.
void drain_ended_threads(bool last) {
  EndedEntries own(false), merged(true);
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    if (std::atomic_ref(entry.state).load(std::memory_order_acquire) != kThreadEnded) continue;
    (!last && merges_from(entry.start_ticks) ? merged : own).add(i);
  }
  own.retire();
  merged.retire();
}

ChunkHead* open_chunk_of(ThreadEntry& entry) {
  if (!is_live(entry)) return nullptr;
  std::uint32_t index = std::atomic_ref(entry.chunk).load(std::memory_order_acquire);
  if (index == 0 || index > g_segment.header->chunk_count) return nullptr;
  ChunkHead* chunk = chunk_at(index - 1);
  return chunk->tid == entry.tid && chunk->thread_start_ticks == entry.start_ticks ? chunk : nullptr;
}

void drain_rest(bool ask_kernel, bool last) {
  bool all = last || g_options.mode == kTrace;
  see_open_chunks();
  for (std::uint32_t i = 0, end = threads_used(); i < end && g_options.mode == kTrace; ++i)
    if (ChunkHead* chunk = open_chunk_of(g_segment.threads[i])) write_slots(chunk, first_incomplete(chunk));
  write_strings();
  write_stacks();
  if (ask_kernel) ask_kernel_about_threads();
  // In this order: a thread that ends in between is in both, not in neither.
  if (all) write_changed_threads();
  if (last) write_shared_entry();
  drain_ended_threads(last);
  if (all && ask_kernel) write_living_short_waits();
  sum_up();
}

namespace {

void write_owned_short_waits(BlockKind kind) {
  for (std::uint32_t i = 0; i < g_segment.header->short_count; ++i)
    if (std::atomic_ref(g_short_owners[i]).load(std::memory_order_acquire) != 0) write_row(kind, g_segment.shorts[i]);
}

}  // namespace

void write_living() {
  write_living_threads(true);
  write_owned_short_waits(kBlockShortWaits);
  write_sums(kBlockCounters);
}

void aggregate_open_chunks() {
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i)
    if (ChunkHead* chunk = open_chunk_of(g_segment.threads[i])) aggregate(chunk, first_incomplete(chunk));
}

std::uint64_t main_run_delay_ns() {
  const auto main = static_cast<std::uint32_t>(getpid());
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    if (entry.tid != main || !is_live(entry)) continue;
    read_from_kernel(entry);
    return entry.run_delay_ns;
  }
  return 0;
}

void write_start_counters() {
  write_owned_short_waits(kBlockStartShortWaits);
  write_sums(kBlockStartCounters);
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

void count_lost_short_waits() {
  for (std::uint32_t i = 0; i < g_segment.header->short_count && g_file.error != 0; ++i) {
    if (std::atomic_ref(g_short_owners[i]).load(std::memory_order_acquire) == 0) continue;
    std::uint64_t count = count_of(g_segment.shorts[i].time) - g_written_short_counts[i];
    g_totals.records += count;
    g_totals.lost += count;
    g_header.lost_in_file += count;
  }
  sum_up();
}

std::uint32_t living_threads() {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) count += is_live(g_segment.threads[i]);
  return count;
}

// The kernel is asked about all threads at most every second, and seldom enough that 20 ms pass per thread: about 10 µs
// of work each, so at most 0.05 % of a core however many there are.
bool kernel_is_due(std::uint64_t now_ns) {
  HP_OF_PROCESS static std::uint64_t g_next_kernel_ns = 0;
  if (now_ns < g_next_kernel_ns) return false;
  std::uint64_t pause = living_threads() * std::uint64_t{20000000};
  g_next_kernel_ns = now_ns + (pause > 1000000000 ? pause : 1000000000);
  return true;
}

void mark_all_drained() {
  std::atomic_ref serial(g_segment.header->aggregate_serial);
  serial.fetch_add(1, std::memory_order_acq_rel);
  std::uint32_t ready = std::atomic_ref(g_segment.header->chunks_ready).load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < ready; ++i) {
    ChunkHead* chunk = chunk_at(i);
    if (chunk->aggregated < chunk->drained)
      std::atomic_ref(chunk->aggregated).store(chunk->drained, std::memory_order_release);
  }
  serial.fetch_add(1, std::memory_order_release);
  merge_only_later_threads();
}

void add_own_ticks(std::uint64_t ticks) { g_totals.own_ticks += ticks; }

Totals totals_so_far() {
  Totals sum = sum_of_threads();
  for (std::uint32_t i = 0; i < g_segment.header->short_count; ++i)
    if (std::atomic_ref(g_short_owners[i]).load(std::memory_order_acquire) != 0)
      if (is_of_waits(g_segment.shorts[i])) sum.aggregated += count_of(g_segment.shorts[i].time);
  return sum;
}

}  // namespace hostprobe::probe
