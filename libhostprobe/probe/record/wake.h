// wake.h: what the calls that wake somebody leave behind for the waiter.
//
// Room 2 (probe/). On the program's threads, up to 500 000 times a second, almost always with nobody waiting: then one
// load and no clock. May run in a signal handler (sem_post).
#pragma once

#include "probe/record/hook.h"
#include "probe/record/pairing.h"
#include "probe/record/thread.h"

namespace hostprobe::probe {

// False: nobody waits, which is counted, or nothing is recorded.
inline bool may_wake(const void* object) {
  if (!recording()) return false;
  if (HP_UNLIKELY(bucket_of(object).waiters.load(std::memory_order_relaxed) != 0)) return true;
  count_quiet();
  return false;
}

inline void note_wake(Hook& hook, const void* object) {
  if (HP_LIKELY(!may_wake(object))) return;
  if (HP_UNLIKELY(t_local.tid == 0) && !attach_thread()) return;
  mark_used(hook);
  leave_post(bucket_of(object), object);
}

// The whole call where somebody may wait. Apart, so that the usual way saves no registers.
template <class Object>
__attribute__((noinline, cold)) int wake_noted(Hook& hook, Object* object) {
  note_wake(hook, object);
  return libc_target<int (*)(Object*)>(hook)(object);
}

}  // namespace hostprobe::probe
