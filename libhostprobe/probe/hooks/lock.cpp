// hooks/lock.cpp: mutexes, read-write locks and spin locks that are held by somebody else, and their release.
//
// Room 2 (probe/). Hundreds of thousands of calls a second, nearly all of them free at once: the try function of the same
// lock answers those without a clock and without a word of ours being written, except the count. Only where it says EBUSY
// is the real call timed. A try that succeeds or fails otherwise is what the real call would have done, except with
// arguments that it refuses even where the lock is free.
#include <pthread.h>
#include <time.h>

#include "probe/record/locks.h"
#include "probe/record/wait.h"
#include "probe/record/wake.h"

namespace hostprobe::probe {

namespace {

// A lock that the caller itself holds is refused, not waited for.
int error_of_lock(int result) { return result == EDEADLK || result == EINVAL ? kDidNotBlock : result; }

// A limit is looked at before the lock by read-write locks, by a mutex only where it must wait.
bool accepted(clockid_t clock, const timespec* limit) {
  return limit == nullptr || (plain_clock(clock) && plain_limit(limit));
}
// The kernel's own locks know the second clock only since Linux 5.14 and glibc 2.35.
bool accepted_clock(const pthread_mutex_t* lock, clockid_t clock) {
  constexpr int kInherits = 32;  // in the kind of a mutex made with PTHREAD_PRIO_INHERIT
  return clock == CLOCK_REALTIME || (clock == CLOCK_MONOTONIC && (lock->__data.__kind & kInherits) == 0);
}

// Apart, as all that is rare in these hooks: the usual way then saves no registers.
template <class Call>
__attribute__((noinline, cold)) int wait_for_lock(Hook& hook, const void* lock, const void* site, Call call) {
  ++t_local.lock_waits;
  g_lock_waiters.fetch_add(1, std::memory_order_seq_cst);
  int result = paired_wait(hook, lock, site, call, error_of_lock, true);
  g_lock_waiters.fetch_sub(1, std::memory_order_relaxed);
  --t_local.lock_waits;
  return result;
}

}  // namespace
}  // namespace hostprobe::probe

using namespace hostprobe::probe;

// `try_it` is libc's try function for the same kind of lock; none of them is hooked. `plain`: it stands for the real one.
#define HP_LOCK_HOOK(name, versions, plain, try_it, params, args)                         \
  HP_WAIT_HOOK(kLock, name, versions, params) {                                           \
    if (!recording() || !(plain)) return libc_target<int(*) params>(g_hook_##name) args;  \
    int result = try_it;                                                                  \
    if (HP_LIKELY(result != EBUSY)) {                                                     \
      mark_used(g_hook_##name);                                                           \
      count_quiet();                                                                      \
      return result;                                                                      \
    }                                                                                     \
    return wait_for_lock(g_hook_##name, lock, HP_SITE,                                    \
                         [=] { return libc_target<int(*) params>(g_hook_##name) args; }); \
  }

HP_LOCK_HOOK(pthread_mutex_lock, "GLIBC_2.2.5", true, pthread_mutex_trylock(lock), (pthread_mutex_t * lock), (lock))
HP_LOCK_HOOK(pthread_mutex_timedlock, "GLIBC_2.34", true, pthread_mutex_trylock(lock),
             (pthread_mutex_t * lock, const timespec* limit), (lock, limit))
HP_LOCK_HOOK(pthread_mutex_clocklock, "GLIBC_2.34", accepted_clock(lock, clock), pthread_mutex_trylock(lock),
             (pthread_mutex_t * lock, clockid_t clock, const timespec* limit), (lock, clock, limit))
HP_LOCK_HOOK(pthread_rwlock_rdlock, "GLIBC_2.34", true, pthread_rwlock_tryrdlock(lock), (pthread_rwlock_t * lock),
             (lock))
HP_LOCK_HOOK(pthread_rwlock_wrlock, "GLIBC_2.34", true, pthread_rwlock_trywrlock(lock), (pthread_rwlock_t * lock),
             (lock))
HP_LOCK_HOOK(pthread_rwlock_timedrdlock, "GLIBC_2.34", accepted(CLOCK_REALTIME, limit), pthread_rwlock_tryrdlock(lock),
             (pthread_rwlock_t * lock, const timespec* limit), (lock, limit))
HP_LOCK_HOOK(pthread_rwlock_timedwrlock, "GLIBC_2.34", accepted(CLOCK_REALTIME, limit), pthread_rwlock_trywrlock(lock),
             (pthread_rwlock_t * lock, const timespec* limit), (lock, limit))
HP_LOCK_HOOK(pthread_rwlock_clockrdlock, "GLIBC_2.34", accepted(clock, limit), pthread_rwlock_tryrdlock(lock),
             (pthread_rwlock_t * lock, clockid_t clock, const timespec* limit), (lock, clock, limit))
HP_LOCK_HOOK(pthread_rwlock_clockwrlock, "GLIBC_2.34", accepted(clock, limit), pthread_rwlock_trywrlock(lock),
             (pthread_rwlock_t * lock, clockid_t clock, const timespec* limit), (lock, clock, limit))

// Its release is one store in the caller's code or in libc, and is not hooked: who let go is not known.
HP_WAIT_HOOK(kLock, pthread_spin_lock, "GLIBC_2.34", (pthread_spinlock_t * lock)) {
  auto real = libc_target<int (*)(pthread_spinlock_t*)>(g_hook_pthread_spin_lock);
  if (!recording()) return real(lock);
  int result = pthread_spin_trylock(lock);
  mark_used(g_hook_pthread_spin_lock);
  if (HP_LIKELY(result != EBUSY)) return result;
  return timed_wait(
      g_hook_pthread_spin_lock, const_cast<const int*>(lock), HP_SITE, [=] { return real(lock); }, error_of_lock);
}

// One word says whether anybody in the process waits for any lock: as a rule nobody does.
#define HP_UNLOCK_HOOK(name, versions, type)                                                                      \
  HP_ROW(kWake, kWake, name, versions, 0, 0, "", "", "", "", "")                                                  \
  extern "C" HP_EXPORT int hp_##name(type* lock) __asm__(#name);                                                  \
  extern "C" int hp_##name(type* lock) {                                                                          \
    if (HP_UNLIKELY(g_lock_waiters.load(std::memory_order_relaxed) != 0)) return wake_noted(g_hook_##name, lock); \
    return libc_call<int>(g_hook_##name, lock);                                                                   \
  }

HP_UNLOCK_HOOK(pthread_mutex_unlock, "GLIBC_2.2.5", pthread_mutex_t)
HP_UNLOCK_HOOK(pthread_rwlock_unlock, "GLIBC_2.34", pthread_rwlock_t)
