// thread.cpp: the beginning and the end of a thread's trace, and taking a new chunk: everything about a thread that is
// not the hot path. Runs on the program's threads; errno is kept; no lock is taken.
#include "probe/record/thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "probe/record/bell.h"
#include "probe/record/chunk.h"
#include "probe/record/hold.h"
#include "probe/record/hook.h"
#include "probe/record/locks.h"
#include "probe/record/pairing.h"
#include "probe/record/shelter.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/signal_frame.h"

namespace hostprobe::probe {

constinit thread_local ThreadLocal t_local{};
HP_KEPT_BY_CHILDREN constinit Bucket g_buckets[1u << kBucketBits]{};
HP_OF_PROCESS constinit std::atomic<std::uint32_t> g_lock_waiters{0};

namespace {

HP_START_DATA pthread_key_t g_key = 0;
HP_START_DATA bool g_key_made = false;
HP_OF_PROCESS std::atomic<std::uint32_t> g_next_entry{0};

std::uint64_t thread_cpu_ns() { return read_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

std::uint64_t slots_used(const ThreadLocal& t) {
  if (t.chunk == nullptr) return 0;
  std::uintptr_t used = t.cursor < t.end ? t.cursor : t.end;
  return (used - reinterpret_cast<std::uintptr_t>(t.chunk + 1)) / sizeof(Record);
}

void give_chunk_away(ThreadLocal& t) {
  ChunkHead* chunk = t.chunk;
  if (chunk == nullptr) return;
  std::uint64_t records = t.sequence + slots_used(t);
  t.end = 0;
  std::atomic_ref(t.entry->chunk).store(0, std::memory_order_release);
  // No more than there are, not even for a moment: a process killed then would seem to have lost the rest.
  t.entry->records = records;
  t.chunk = nullptr;
  if (!hand_over(t.index, chunk)) {
    t.entry->lost += kChunkRecords;
    count_loss(kLostNoChunk, kChunkRecords);
  }
  if (writer_is_needed()) wake_writer();
}

// A wait that never returned: the thread was cancelled in it, or left it by pthread_exit or by a jump. Its end is now.
void record_open_wait(ThreadLocal& t) {
  ThreadEntry* entry = t.entry;
  if (entry == nullptr) return;  // a handler has forked since, and this is the child
  OpenWait open = entry->open;
  std::uint16_t hook = sum_hook(open.key);
  if (hook == 0) return;
  entry->open = {};
  if (t.open_bucket != nullptr) withdraw(*t.open_bucket);
  t.open_bucket = nullptr;
  Record* r = reserve_record();
  if (r == nullptr) return;
  std::uint64_t site = sum_site(open.key);
  *r = Record{open.begin_ticks, ticks(), 0, 0, 0, 0, open.object, 0, site, 0, 0};
  commit_record(r, *hook_of_number(hook), kRecordCancelled, 0);
}

// What comes later, in other destructors, gets an entry and places of its own.
void end_thread(ThreadLocal& t) {
  if (t.entry == nullptr) return;
  Shelter shelter;
  std::uint64_t records = t.sequence + slots_used(t);
  ThreadEntry* entry = t.entry;
  prctl(PR_GET_NAME, entry->name);
  entry->cpu_ns = thread_cpu_ns();
  give_chunk_away(t);
  entry->records = records;
  entry->end_ticks = ticks();
  t.entry = nullptr;
  memset(t.short_places, 0, sizeof t.short_places);
  t.poll_counter = nullptr;
  std::atomic_ref(entry->state).store(kThreadEnded, std::memory_order_release);
  wake_writer();
}

#if !defined(__has_feature)
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
constexpr std::uint32_t kLastRound = 3;  // in the fourth the sanitizer takes the thread's state apart
#else
constexpr std::uint32_t kLastRound = 4;  // PTHREAD_DESTRUCTOR_ITERATIONS
#endif

// Whoever joins this thread learns that its end was the wake.
void note_end(const ThreadLocal& t) {
  const auto* self = reinterpret_cast<const void*>(pthread_self());
  if (t.tid != 0 && bucket_of(self).waiters.load(std::memory_order_relaxed) != 0) leave_post(bucket_of(self), self);
}

// Key destructors run up to four times, among those of everybody else. We stay until the last round, so that waits in
// other destructors are recorded too. One that waits even after that gets an entry of its own; drain.cpp finds it orphaned.
void key_destructor(void*) {
  ThreadLocal& t = t_local;
  int saved = errno;
  if (trace_is_open()) record_open_wait(t);
  if (++t.exit_rounds < kLastRound) {
    pthread_setspecific(g_key, &t);
  } else if (hooks_enabled()) {  // else a filter may be set that none of these calls passes
    auto tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
    note_thread_is_ending(tid);
    if (trace_is_open()) note_end(t);
    if (trace_is_open()) end_thread(t);
    leave_with_last_thread(tid);
  }
  errno = saved;
}

void count_lost(ThreadLocal& t, LossCause cause) {
  count_loss(cause);
  if (ThreadEntry* entry = t.entry) {
    ++entry->lost;
    ++t.sequence;
  } else if (SegmentHeader* header = g_segment.header) {
    std::atomic_ref(header->lost).fetch_add(1, std::memory_order_relaxed);
  }
}

// Continues the thread's running numbers: a full chunk used kChunkRecords of them.
bool start_chunk(ThreadLocal& t) {
  if (t.chunk != nullptr) {
    give_chunk_away(t);
    t.sequence += kChunkRecords;
  }
  ChunkHead* chunk = take_chunk();
  if (chunk == nullptr) {
    wake_writer();
    return false;
  }
  chunk->tid = t.tid;
  chunk->thread_start_ticks = t.entry->start_ticks;
  chunk->first_sequence = t.sequence;
  t.chunk = chunk;
  t.lap_and_mark = (t.lap_and_mark & 0xffff0000) | chunk->lap;
  t.entry->records = t.sequence;
  std::atomic_ref(t.entry->chunk).store(chunk_index(chunk) + 1, std::memory_order_release);
  t.cursor = reinterpret_cast<std::uintptr_t>(chunk + 1);
  t.end = reinterpret_cast<std::uintptr_t>(chunk) + kChunkBytes;
  return true;
}

// A child of clone(CLONE_VM) has no thread here: its end would not be seen. Nor has one that a handler has just forked.
bool is_elsewhere() {
  return g_segment.header == nullptr || g_segment.header->pid != static_cast<std::uint32_t>(getpid());
}

bool take_entry(ThreadEntry& entry) {
  std::uint32_t free = kThreadFree;
  if (!std::atomic_ref(entry.state).compare_exchange_strong(free, kThreadTaken, std::memory_order_acq_rel))
    return false;
  memset(reinterpret_cast<char*>(&entry) + sizeof entry.state, 0, sizeof entry - sizeof entry.state);
  return true;
}

// One that a thread had before.
ThreadEntry* reserve_used(std::uint32_t& index) {
  std::uint32_t used = threads_used(), start = g_next_entry.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < used; ++i) {
    index = (start + i) % used;
    if (!take_entry(g_segment.threads[index])) continue;
    g_free_entries.fetch_sub(1, std::memory_order_relaxed);
    return &g_segment.threads[index];
  }
  return nullptr;
}

// Whoever looks for a used one meanwhile may be quicker.
ThreadEntry* reserve_unused(std::uint32_t& index) {
  std::atomic_ref used(g_segment.header->threads_used);
  index = used.load(std::memory_order_relaxed);
  while (index < g_segment.header->thread_count) {
    if (!used.compare_exchange_weak(index, index + 1, std::memory_order_acq_rel)) continue;
    if (take_entry(g_segment.threads[index])) return &g_segment.threads[index];
    g_free_entries.fetch_add(1, std::memory_order_relaxed);  // it was counted as one less
    index = used.load(std::memory_order_relaxed);
  }
  return nullptr;
}

bool attach_sheltered(ThreadLocal& t) {
  if (t.entry != nullptr) return true;
  std::uint32_t index = 0;
  ThreadEntry* entry = reserve_thread(index);
  if (entry != nullptr) adopt_thread(entry, index);
  return entry != nullptr;
}

// What became of a record: its slot, or why there is none.
struct Reserved {
  Record* record = nullptr;
  LossCause lost = kLostInHandler;
  bool wait_was_left = false;
};

// A hook that a signal handler has interrupted is still below us, has a slot it will fill, and its chunk must stay. One
// that was left by a jump out of the handler will never fill its slot: nothing is below us, and the slot is lost.
Reserved reserve_sheltered(ThreadLocal& t, const Shelter& shelter) {
  bool in_wait = t.entry != nullptr && t.entry->open.key != 0;
  bool handler_runs = (t.filling != 1 || in_wait) && in_signal_handler(shelter.blocked_before());
  if (handler_runs && t.filling != 1) return {};
  t.filling = 1;
  if (t.entry == nullptr && is_elsewhere()) return {nullptr, kLostElsewhere};
  if (!attach_sheltered(t)) return {nullptr, kLostThreadTable};
  std::uint64_t begin = ticks();
  Reserved reserved{nullptr, has_writer() ? kLostNoChunk : kLostNoWriter, in_wait && !handler_runs};
  if (start_chunk(t)) {
    reserved.record = reinterpret_cast<Record*>(t.cursor);
    t.cursor += sizeof(Record);
  }
  report_write_failure();
  count_own_ticks(ticks() - begin);
  return reserved;
}

}  // namespace

HP_START_CODE void make_thread_key() {
  if (!g_key_made) g_key_made = pthread_key_create(&g_key, key_destructor) == 0;
}

HP_START_CODE void watch_thread_end() {
  if (g_key_made) pthread_setspecific(g_key, &t_local);
}

ThreadEntry* reserve_thread(std::uint32_t& index) {
  ThreadEntry* entry = nullptr;
  if (g_free_entries.load(std::memory_order_relaxed) != 0) entry = reserve_used(index);
  if (entry == nullptr) entry = reserve_unused(index);
  if (entry == nullptr) entry = reserve_used(index);
  if (entry == nullptr) wake_writer();
  return entry;
}

void release_thread(ThreadEntry* entry) {
  std::atomic_ref(entry->state).store(kThreadFree, std::memory_order_release);
  g_free_entries.fetch_add(1, std::memory_order_relaxed);
}

void adopt_thread(ThreadEntry* entry, std::uint32_t index) {
  ThreadLocal& t = t_local;
  t.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  t.index = index;
  t.sequence = 0;
  entry->tid = t.tid;
  entry->start_ticks = ticks();
  prctl(PR_GET_NAME, entry->name);
  t.entry = entry;
  std::atomic_ref(entry->state).store(kThreadLive, std::memory_order_release);
  watch_thread_end();
}

bool attach_thread() {
  ThreadLocal& t = t_local;
  if (t.entry != nullptr) return true;
  if (t.taking) return false;
  if (is_held()) await_exec();
  bool writer_may_start = false;
  {
    Shelter shelter;
    if (is_elsewhere() || !attach_sheltered(t)) return false;
    writer_may_start = writer_is_due(false) && !in_signal_handler(shelter.blocked_before());
  }
  // Not only with the first record: a process that hangs in its first wait has none.
  if (writer_may_start) start_writer();
  // The signals that waited are let in again: a handler may have forked, and a child has no entry yet.
  return t.entry != nullptr;
}

void close_left_wait(ThreadLocal& t) {
  g_lock_waiters.fetch_sub(t.lock_waits, std::memory_order_relaxed);
  t.lock_waits = 0;
  record_open_wait(t);
}

Record* reserve_in_new_chunk() {
  ThreadLocal& t = t_local;
  int saved = errno;
  Reserved reserved;
  bool writer_may_start = false;
  if (is_held() && !t.taking) await_exec();
  if (trace_is_open() && !t.taking) {
    Shelter shelter;
    reserved = reserve_sheltered(t, shelter);
    writer_may_start = writer_is_due(t.sequence != 0) && !in_signal_handler(shelter.blocked_before());
  }
  if (reserved.record != nullptr && reserved.wait_was_left) close_left_wait(t);
  if (writer_may_start) start_writer();
  if (reserved.record == nullptr) {
    if (g_gate.recording != 0) count_lost(t, reserved.lost);  // else it ended after the trace did
    drop_record();
  }
  errno = saved;
  return reserved.record;
}

void reset_thread_local() {
  ThreadLocal& t = t_local;
  ThreadLocal fresh{};
  fresh.muted = t.muted;
  fresh.filling = t.filling;
  fresh.open_bucket = t.open_bucket;
  fresh.lock_waits = t.lock_waits;
  t = fresh;
}

}  // namespace hostprobe::probe
