// thread_local.h: what hostprobe keeps for one thread, in the thread's own storage.
//
// Room 2 (probe/). Touched by every hook, so it is one initial-exec thread-local of plain data: valid before the first
// constructor and after the last destructor of a thread. A hook may be interrupted by a signal whose handler is hooked
// too: slots are reserved with one instruction and `filling` says that a reservation below us is not finished yet.
#pragma once

#include "format/segment.h"
#include "probe/record/hook_row.h"

namespace hostprobe::probe {

struct Bucket;

// Where the short waits of one place are aggregated.
struct ShortPlace {
  std::uint64_t key;  // 0: free, and so are all behind it
  SiteCounter* counters;
};
inline constexpr unsigned kShortPlaces = 8;

// Where a thread is while it forks. Unseen: by a call that runs no handlers, or not at all.
enum Forks : std::uint8_t { kForksUnseen = 0, kForksOutside, kForksInHook };

struct alignas(64) ThreadLocal {
  // First line: the hot path.
  std::uintptr_t cursor;  // next free slot; beyond `end` when a chunk must be taken
  std::uintptr_t end;     // one past the last slot of the chunk
  std::uint32_t filling;  // reservations that are not finished; more than 1: we are in a signal handler
  std::uint32_t muted;    // nothing is recorded: writer thread, vfork child
  ThreadEntry* entry;     // in the segment; nullptr before the first record
  ChunkHead* chunk;
  std::uint32_t tid;
  std::uint32_t lap_and_mark;  // bits 0–15: lap of `chunk`; 16–31: flags that the next record carries too (kRecord…)
  const void* cxx_site;        // caller of std::condition_variable::wait, for the pthread_cond_wait inside it
  // Second line.
  std::uint64_t sequence;  // running number of slot 0 of `chunk`, lost ones included
  std::uint64_t last_stack_ticks;
  Bucket* open_bucket;          // of the wait in `entry`; nullptr: nobody is paired with it
  const void* owed_stack_site;  // of a wait for a lock that wants a stack; nullptr: none does
  std::uint32_t index;          // of `entry`
  std::uint32_t exit_rounds;
  std::uint16_t last_stack;   // the id of its newest stack; 0: it had none
  std::uint16_t same_stacks;  // how often that came again, one after another
  bool taking;                // inside a slow path of ours, see shelter.h
  Forks forks;
  std::uint32_t lock_waits;  // the thread's share of g_lock_waiters
  std::uint32_t nccl_depth;  // of ncclGroupStart calls
  std::uint32_t nccl_group;  // number of the outermost of them
  // An NCCL progress thread: see progress.h.
  bool polls;
  std::uint32_t poll_cpu;
  std::uint64_t last_poll_ticks;  // 0: it has waited since, so it had no work
  SiteCounter* poll_counter;
  ShortPlace short_places[kShortPlaces];
};

static_assert(offsetof(ThreadLocal, muted) == 20);  // dlsym.S of arch/

extern constinit thread_local ThreadLocal t_local __asm__("hp_t_local") __attribute__((tls_model("initial-exec")));

// Behind a slow path. Read here and once: where signals are let in again a handler may fork, and the child, which goes on
// with our path, has no entry.
inline void count_own_ticks(std::uint64_t spent) {
  if (ThreadEntry* entry = t_local.entry) entry->own_ticks += spent;
}

}  // namespace hostprobe::probe
