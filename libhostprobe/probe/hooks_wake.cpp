// hooks_wake.cpp: the calls that wake somebody. They leave their name for the waiter and make no record of their own.
//
// Room 2 (probe/). On the program's threads, up to 500 000 times a second, almost always with nobody waiting: then one
// load and no clock. sem_post may run in a signal handler.
#include <pthread.h>
#include <semaphore.h>

#include "hook.h"
#include "pairing.h"

namespace hostprobe::probe {
namespace {

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

}  // namespace
}  // namespace hostprobe::probe

using namespace hostprobe::probe;

#define HP_WAKE_HOOK(name, versions, type)                         \
  HP_ROW(kWake, name, versions, 0, 0, nullptr, "", "", "", "", "") \
  extern "C" HP_EXPORT int hp_##name(type* object) __asm__(#name); \
  extern "C" int hp_##name(type* object) {                         \
    auto real = libc_real<int (*)(type*)>(g_hook_##name);          \
    note_wake(g_hook_##name, object);                              \
    return real(object);                                           \
  }

HP_WAKE_HOOK(sem_post, "GLIBC_2.34", sem_t)
HP_WAKE_HOOK(pthread_cond_signal, "GLIBC_2.3.2", pthread_cond_t)
HP_WAKE_HOOK(pthread_cond_broadcast, "GLIBC_2.3.2", pthread_cond_t)
