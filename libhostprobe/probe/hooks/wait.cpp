// hooks/wait.cpp: semaphores and condition variables that block. One block per function.
//
// Room 2 (probe/). A semaphore is tried first, which reads no clock: only a call that would block is timed. The real
// function checks its arguments before it tries, so a call with a bad time limit or clock goes straight to it. sem_wait and
// sem_timedwait are cancellation points even when they do not block, sem_clockwait is none then.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "probe/record/wait.h"

namespace hostprobe::probe {
namespace {

// True when the semaphore could be taken without blocking.
bool taken_at_once(sem_t* sem) {
  int saved = errno;
  if (sem_trywait(sem) == 0) {
    count_quiet();
    return true;
  }
  errno = saved;
  return false;
}

// A progress thread of NCCL's waits on a condition only when it has no work: the time is no interval between two polls.
template <class Call>
int condition_wait(Hook& hook, const pthread_cond_t* condition, const void* site, Call call) {
  t_local.last_poll_ticks = 0;
  return paired_wait(hook, condition, site, call, result_itself);
}

const void* site_of_condition(const void* site) {
  const void* outer = t_local.cxx_site;
  t_local.cxx_site = nullptr;
  return outer != nullptr ? outer : site;
}

}  // namespace
}  // namespace hostprobe::probe

using namespace hostprobe::probe;

HP_WAIT_HOOK(kSemaphore, sem_wait, "GLIBC_2.34", (sem_t * sem)) {
  auto real = libc_target<int (*)(sem_t*)>(g_hook_sem_wait);
  if (!recording_or_begun(Moment::kAnywhere)) return real(sem);
  pthread_testcancel();
  if (taken_at_once(sem)) return 0;
  return paired_wait(
      g_hook_sem_wait, sem, HP_SITE, [=] { return real(sem); }, errno_of);
}

HP_WAIT_HOOK(kSemaphore, sem_timedwait, "GLIBC_2.34", (sem_t * sem, const timespec* limit)) {
  auto real = libc_target<int (*)(sem_t*, const timespec*)>(g_hook_sem_timedwait);
  if (!recording_or_begun(Moment::kAnywhere) || !plain_limit(limit)) return real(sem, limit);
  pthread_testcancel();
  if (taken_at_once(sem)) return 0;
  return paired_wait(
      g_hook_sem_timedwait, sem, HP_SITE, [=] { return real(sem, limit); }, errno_of);
}

HP_WAIT_HOOK(kSemaphore, sem_clockwait, "GLIBC_2.34", (sem_t * sem, clockid_t clock, const timespec* limit)) {
  auto real = libc_target<int (*)(sem_t*, clockid_t, const timespec*)>(g_hook_sem_clockwait);
  if (!recording_or_begun(Moment::kAnywhere) || !plain_clock(clock) || !plain_limit(limit))
    return real(sem, clock, limit);
  if (taken_at_once(sem)) return 0;
  return paired_wait(
      g_hook_sem_clockwait, sem, HP_SITE, [=] { return real(sem, clock, limit); }, errno_of);
}

HP_WAIT_HOOK(kCondition, pthread_cond_wait, "GLIBC_2.3.2", (pthread_cond_t * cond, pthread_mutex_t* mutex)) {
  auto real = libc_target<int (*)(pthread_cond_t*, pthread_mutex_t*)>(g_hook_pthread_cond_wait);
  const void* site = site_of_condition(HP_SITE);
  if (!recording_or_begun(Moment::kPlain)) return real(cond, mutex);
  return condition_wait(g_hook_pthread_cond_wait, cond, site, [=] { return real(cond, mutex); });
}

HP_WAIT_HOOK(kCondition, pthread_cond_timedwait, "GLIBC_2.3.2",
             (pthread_cond_t * cond, pthread_mutex_t* mutex, const timespec* limit)) {
  auto real = libc_target<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(g_hook_pthread_cond_timedwait);
  if (!recording_or_begun(Moment::kPlain)) return real(cond, mutex, limit);
  return condition_wait(g_hook_pthread_cond_timedwait, cond, HP_SITE, [=] { return real(cond, mutex, limit); });
}

HP_WAIT_HOOK(kCondition, pthread_cond_clockwait, "GLIBC_2.34",
             (pthread_cond_t * cond, pthread_mutex_t* mutex, clockid_t clock, const timespec* limit)) {
  auto real = libc_target<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>(
      g_hook_pthread_cond_clockwait);
  if (!recording_or_begun(Moment::kPlain)) return real(cond, mutex, clock, limit);
  return condition_wait(g_hook_pthread_cond_clockwait, cond, HP_SITE, [=] { return real(cond, mutex, clock, limit); });
}

// std::condition_variable::wait(std::unique_lock<std::mutex>&) lies in libstdc++, so every untimed C++ wait would be
// blamed on libstdc++. This shell only notes who called; the wait itself is pthread_cond_wait above.
HP_ROW(kWait, kOther, _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, "GLIBCXX_3.4.30", 0, 0, "", "", "", "",
       "")
extern "C" HP_EXPORT void hp_cxx_wait(void* self,
                                      void* lock) __asm__("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
extern "C" void hp_cxx_wait(void* self, void* lock) {
  Hook& hook = g_hook__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE;
  auto real = libc_target<void (*)(void*, void*)>(hook);
  if (recording()) t_local.cxx_site = HP_SITE;
  real(self, lock);
}
