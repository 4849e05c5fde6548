// wake.h: what the calls that wake somebody leave behind for the waiter.
//
// Room 2 (probe/). On the program's threads, up to 500 000 times a second, almost always with nobody waiting: then one
// load and no clock. May run in a signal handler (sem_post).
#pragma once

#include "hook.h"
#include "pairing.h"

namespace hostprobe::probe {

inline void note_wake(Hook& hook, const void* object) {
  if (!recording()) return;
  Bucket& bucket = bucket_of(object);
  if (HP_LIKELY(bucket.waiters.load(std::memory_order_relaxed) == 0)) {
    count_quiet();
    return;
  }
  if (HP_UNLIKELY(t_local.tid == 0) && !attach_thread()) return;
  mark_used(hook);
  leave_post(bucket, object);
}

}  // namespace hostprobe::probe
