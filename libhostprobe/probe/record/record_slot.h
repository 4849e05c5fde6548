// record_slot.h: where the calling thread's next record goes, and making it valid.
//
// Room 2 (probe/). Price: 1 unlocked xadd (x86-64), 8 stores into one cache line, 1 predictable branch. No lock, no allocation, no
// system call, except when a chunk is taken.
#pragma once

#include <atomic>

#include "probe/arch/architecture.h"
#include "probe/record/doors.h"
#include "probe/record/gate.h"
#include "probe/record/thread_local.h"

namespace hostprobe::probe {

inline bool recording() { return HP_LIKELY(g_gate.recording != 0) && HP_LIKELY(t_local.muted == 0); }
inline bool recording_launches() { return HP_LIKELY(g_gate.recording == kEverything) && HP_LIKELY(t_local.muted == 0); }

// False for good when the process is not a target; cheap then: two loads.
inline bool recording_or_begun(Moment moment) { return recording() || begin_recording(moment); }

inline bool sample_is_due() { return __atomic_load_n(&g_gate.recording, __ATOMIC_RELAXED) == kSampleDue; }

Record* reserve_in_new_chunk();

// Next slot of the calling thread, or nullptr when the record is lost (and counted). One instruction takes the slot, so
// that a signal handler's hook on this thread takes the next one and not the same.
inline Record* reserve_record() {
  ThreadLocal& t = t_local;
  enter_own(t.filling);  // nothing of the record is stored outside of the count
  std::uintptr_t slot = take_own(t.cursor, sizeof(Record));
  // The line of the fourth call from here, for writing: without it a store waits for a line that another core had last.
  prefetch_for_writing(slot + 4 * sizeof(Record));
  if (HP_LIKELY(slot < t.end)) return reinterpret_cast<Record*>(slot);
  return reserve_in_new_chunk();
}

// Makes the record valid: everything else is stored before its last word.
inline void commit_record(Record* r, const Hook& hook, std::uint16_t flags, std::uint16_t stack) {
  ThreadLocal& t = t_local;
  std::uint32_t lap_and_mark = t.lap_and_mark;
  t.lap_and_mark = lap_and_mark & 0xffff;  // as wide as it is read, or the next call waits until it is in the cache
  std::uint64_t last = std::uint64_t{hook.number} | std::uint64_t{lap_and_mark} << 16 | std::uint64_t{flags} << 32 |
                       std::uint64_t{stack} << 48;
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(&r->hook), last, __ATOMIC_RELEASE);
  leave_own(t.filling);
}

// A record of which all is known at once. False: it is lost, and counted.
inline bool write_record(const Hook& hook, std::uint64_t begin_ticks, std::uint64_t end_ticks, std::uint64_t a,
                         std::uint64_t b, std::uint64_t c, std::uint64_t d = 0, std::uint64_t e = 0) {
  Record* r = reserve_record();
  if (r == nullptr) return false;
  r->begin_ticks = begin_ticks;
  r->end_ticks = end_ticks;
  r->a = a, r->b = b, r->c = c, r->d = d, r->e = e;
  commit_record(r, hook, 0, 0);
  return true;
}

// A reservation that came to nothing is finished too.
inline void drop_record() { leave_own(t_local.filling); }

inline void count_quiet() {
  if (ThreadEntry* e = t_local.entry) count_own(e->quiet_calls);
}

inline void mark_used(Hook& hook) {
  if (HP_UNLIKELY(hook.used == 0)) hook.used = 1;
}

}  // namespace hostprobe::probe
