// thread.cpp: the beginning and the end of a thread's trace, and taking a new chunk: everything about a thread that is
// not the hot path. Runs on the program's threads; errno is kept; no lock is taken.
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "at_start.h"
#include "chunk.h"
#include "hook.h"
#include "last_thread.h"
#include "pairing.h"
#include "writer.h"

namespace hostprobe::probe {

constinit thread_local ThreadLocal t_local{};
constinit Bucket g_buckets[1u << kBucketBits]{};

namespace {

HP_START_DATA pthread_key_t g_key = 0;
HP_START_DATA bool g_key_made = false;
std::atomic<std::uint32_t> g_next_entry{0};

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
  // From here on a nested hook finds no room and drops its record instead of writing into a chunk that is given away.
  t.end = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::atomic_ref(t.entry->chunk).store(0, std::memory_order_release);
  // No more than there are, not even for a moment: a process killed then would seem to have lost the rest.
  t.entry->records = records;
  t.chunk = nullptr;
  if (!hand_over(t.index, chunk)) t.entry->lost += kChunkRecords;
  if (writer_is_needed()) wake_writer();
}

// A wait that never returned: the thread was cancelled or left by pthread_exit inside it.
void record_open_wait(ThreadLocal& t) {
  OpenWait open = t.entry->open;
  auto hook = static_cast<std::uint16_t>(open.key >> 48);
  if (hook == 0) return;
  t.entry->open = {};
  if (t.open_bucket != nullptr) withdraw(*t.open_bucket);
  t.open_bucket = nullptr;
  Record* r = reserve_record();
  if (r == nullptr) return;
  std::uint64_t site = open.key & 0xffffffffffff;
  *r = Record{open.begin_ticks, ticks(), 0, 0, 0, 0, open.object, 0, site, 0, 0};
  commit_record(r, *hook_of_number(hook), kRecordCancelled, 0);
}

void end_thread(ThreadLocal& t) {
  if (t.entry == nullptr) return;
  std::uint64_t records = t.sequence + slots_used(t);
  ThreadEntry* entry = t.entry;
  prctl(PR_GET_NAME, entry->name);
  entry->cpu_ns = thread_cpu_ns();
  give_chunk_away(t);
  entry->records = records;
  entry->end_ticks = ticks();
  t.entry = nullptr;
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
  if (trace_is_open() && t.entry != nullptr) record_open_wait(t);
  if (++t.exit_rounds < kLastRound) {
    pthread_setspecific(g_key, &t);
  } else {
    auto tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
    note_thread_is_ending(tid);
    if (trace_is_open()) note_end(t);
    if (trace_is_open()) end_thread(t);
    if (nobody_remains(tid)) send_writer_away();
  }
  errno = saved;
}

void count_lost(ThreadLocal& t) {
  if (t.entry != nullptr) {
    ++t.entry->lost;
    ++t.sequence;
  } else if (g_segment.header != nullptr) {
    std::atomic_ref(g_segment.header->lost).fetch_add(1, std::memory_order_relaxed);
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
  auto first = reinterpret_cast<std::uintptr_t>(chunk + 1);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.cursor = first;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.end = reinterpret_cast<std::uintptr_t>(chunk) + kChunkBytes;
  return true;
}

}  // namespace

HP_START_CODE void make_thread_key() {
  if (!g_key_made) g_key_made = pthread_key_create(&g_key, key_destructor) == 0;
}

HP_START_CODE void watch_thread_end() {
  if (g_key_made) pthread_setspecific(g_key, &t_local);
}

ThreadEntry* reserve_thread(std::uint32_t& index) {
  std::uint32_t start = g_next_entry.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    index = (start + i) % kThreads;
    ThreadEntry& entry = g_segment.threads[index];
    std::uint32_t free = kThreadFree;
    if (!std::atomic_ref(entry.state).compare_exchange_strong(free, kThreadTaken, std::memory_order_acq_rel)) continue;
    memset(reinterpret_cast<char*>(&entry) + sizeof entry.state, 0, sizeof entry - sizeof entry.state);
    return &entry;
  }
  wake_writer();
  return nullptr;
}

void release_thread(ThreadEntry* entry) { std::atomic_ref(entry->state).store(kThreadFree, std::memory_order_release); }

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
  t.taking = true;
  std::uint32_t index = 0;
  ThreadEntry* entry = reserve_thread(index);
  if (entry != nullptr) adopt_thread(entry, index);
  t.taking = false;
  return entry != nullptr;
}

Record* reserve_in_new_chunk() {
  ThreadLocal& t = t_local;
  int saved = errno;
  Record* record = nullptr;
  // `filling` above 1: a hook below us on this thread has a slot it has not filled; its chunk must stay.
  if (trace_is_open() && t.filling == 1 && !t.taking && attach_thread()) {
    t.taking = true;
    std::uint64_t begin = ticks();
    if (start_chunk(t)) {
      record = reinterpret_cast<Record*>(t.cursor);
      t.cursor += sizeof(Record);
    }
    report_write_failure();
    t.entry->own_ticks += ticks() - begin;
    t.taking = false;
  }
  if (record == nullptr) {
    if (g_gate.recording != 0) count_lost(t);  // else it ended after the trace did
    drop_record();
  }
  errno = saved;
  return record;
}

void reset_thread_local() {
  std::uint32_t muted = t_local.muted;
  t_local = ThreadLocal{};
  t_local.muted = muted;
}

}  // namespace hostprobe::probe
