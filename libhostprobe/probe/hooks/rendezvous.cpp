// hooks/rendezvous.cpp: threads that wait for each other: barriers, once, join.
//
// Room 2 (probe/). Each asks first, without a clock, whether there is anything to wait for.
#include <pthread.h>
#include <time.h>

#include "probe/record/wait.h"
#include "probe/record/wake.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

using Once = int (*)(pthread_once_t*, void (*)());

// What libc leaves in a pthread_once_t that is done: asked of one of our own. 0 until then.
HP_KEPT_BY_CHILDREN std::atomic<int> g_done{0};

int done_value(Once once) {
  int done = g_done.load(std::memory_order_relaxed);
  if (HP_LIKELY(done != 0)) return done;
  pthread_once_t example = PTHREAD_ONCE_INIT;
  once(&example, [] {});
  g_done.store(example, std::memory_order_relaxed);
  return example;
}

int error_of_barrier(int result) { return result == PTHREAD_BARRIER_SERIAL_THREAD ? kDidNotBlock : result; }
// A thread that nobody may join, or that the caller itself is.
int error_of_join(int result) {
  return result == EDEADLK || result == EINVAL || result == ESRCH ? kDidNotBlock : result;
}
const void* object_of(pthread_t thread) { return reinterpret_cast<const void*>(thread); }

// True when the thread had ended already. Joining is a cancellation point only where it blocks.
bool joined_at_once(pthread_t thread, void** value, int& result) {
  result = pthread_tryjoin_np(thread, value);
  return result != EBUSY;
}

// From glibc 2.41 on a limit that is none is an error of a thread that had ended as well.
bool is_limit(const timespec* limit) {
  return limit == nullptr || (limit->tv_nsec >= 0 && limit->tv_nsec < 1'000'000'000);
}

}  // namespace
}  // namespace hostprobe::probe

using namespace hostprobe::probe;

// Whoever arrives last lets the others go; each arrival leaves its name, so the last one's stays.
HP_WAIT_HOOK(kWait, pthread_barrier_wait, "GLIBC_2.34", (pthread_barrier_t * barrier)) {
  auto real = libc_target<int (*)(pthread_barrier_t*)>(g_hook_pthread_barrier_wait);
  if (!recording_or_begun(Moment::kPlain)) return real(barrier);
  note_wake(g_hook_pthread_barrier_wait, barrier);
  return paired_wait(
      g_hook_pthread_barrier_wait, barrier, HP_SITE, [=] { return real(barrier); }, error_of_barrier);
}

// Whoever finds the initialisation not begun runs it, which is work; whoever finds it in progress waits.
HP_WAIT_HOOK(kWait, pthread_once, "GLIBC_2.34", (pthread_once_t * control, void (*routine)())) {
  auto real = libc_target<Once>(g_hook_pthread_once);
  if (!recording()) return real(control, routine);
  mark_used(g_hook_pthread_once);
  int before = __atomic_load_n(control, __ATOMIC_ACQUIRE);
  if (before == PTHREAD_ONCE_INIT || before == done_value(real)) return real(control, routine);
  return timed_wait(
      g_hook_pthread_once, control, HP_SITE, [=] { return real(control, routine); }, result_itself);
}

HP_WAIT_HOOK(kWait, pthread_join, "GLIBC_2.34", (pthread_t thread, void** value)) {
  auto real = libc_target<int (*)(pthread_t, void**)>(g_hook_pthread_join);
  int result = 0;
  if (!recording_or_begun(Moment::kPlain)) return real(thread, value);
  if (joined_at_once(thread, value, result)) return result;
  return paired_wait(
      g_hook_pthread_join, object_of(thread), HP_SITE, [=] { return real(thread, value); }, error_of_join);
}

HP_WAIT_HOOK(kWait, pthread_timedjoin_np, "GLIBC_2.34", (pthread_t thread, void** value, const timespec* limit)) {
  auto real = libc_target<int (*)(pthread_t, void**, const timespec*)>(g_hook_pthread_timedjoin_np);
  int result = 0;
  if (!recording_or_begun(Moment::kPlain) || !is_limit(limit)) return real(thread, value, limit);
  if (joined_at_once(thread, value, result)) return result;
  return paired_wait(
      g_hook_pthread_timedjoin_np, object_of(thread), HP_SITE, [=] { return real(thread, value, limit); },
      error_of_join);
}

HP_WAIT_HOOK(kWait, pthread_clockjoin_np, "GLIBC_2.34",
             (pthread_t thread, void** value, clockid_t clock, const timespec* limit)) {
  auto real = libc_target<int (*)(pthread_t, void**, clockid_t, const timespec*)>(g_hook_pthread_clockjoin_np);
  int result = 0;
  if (!recording_or_begun(Moment::kPlain) || !plain_clock(clock) || !is_limit(limit))
    return real(thread, value, clock, limit);
  if (joined_at_once(thread, value, result)) return result;
  return paired_wait(
      g_hook_pthread_clockjoin_np, object_of(thread), HP_SITE, [=] { return real(thread, value, clock, limit); },
      error_of_join);
}
