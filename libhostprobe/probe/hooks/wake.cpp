// hooks/wake.cpp: semaphores posted, condition variables signalled. They make no record of their own (wake.h).
//
// Room 2 (probe/). One block per function.
#include <pthread.h>
#include <semaphore.h>

#include "probe/record/wake.h"

using namespace hostprobe::probe;

#define HP_WAKE_HOOK(name, versions, type)                                       \
  HP_ROW(kWake, kWake, name, versions, 0, 0, "", "", "", "", "")                 \
  extern "C" HP_EXPORT int hp_##name(type* object) __asm__(#name);               \
  extern "C" int hp_##name(type* object) {                                       \
    if (HP_UNLIKELY(may_wake(object))) return wake_noted(g_hook_##name, object); \
    return libc_call<int>(g_hook_##name, object);                                \
  }

HP_WAKE_HOOK(sem_post, "GLIBC_2.34", sem_t)
HP_WAKE_HOOK(pthread_cond_signal, "GLIBC_2.3.2", pthread_cond_t)
HP_WAKE_HOOK(pthread_cond_broadcast, "GLIBC_2.3.2", pthread_cond_t)
