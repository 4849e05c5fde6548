// hooks/meet.cpp: threads that wait for each other: barriers, once, join; and futexes that are reached through syscall().
//
// Room 2 (probe/). Each asks first, without a clock, whether there is anything to wait for.
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "probe/process/fork.h"
#include "probe/process/lifecycle.h"
#include "probe/process/without_writer.h"
#include "probe/record/wait.h"
#include "probe/record/wake.h"

namespace hostprobe::probe {
namespace {

using Once = int (*)(pthread_once_t*, void (*)());

// What libc leaves in a pthread_once_t that is done: asked of one of our own. 0 until then.
std::atomic<int> g_done{0};

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
// The word had another value already, or the call made no sense.
int error_of_futex(long result) {
  if (result >= 0) return 0;
  return errno == ETIMEDOUT || errno == EINTR ? errno : kDidNotBlock;
}

const void* object_of(pthread_t thread) { return reinterpret_cast<const void*>(thread); }

// True when the thread had ended already. Joining is a cancellation point only where it blocks.
bool joined_at_once(pthread_t thread, void** value, int& result) {
  result = pthread_tryjoin_np(thread, value);
  return result != EBUSY;
}

// Into memory of its own, and on this very stack.
bool forks(long number, long flags, long stack) {
  return number == SYS_fork || (number == SYS_clone && (flags & CLONE_VM) == 0 && stack == 0);
}

// seccomp() without a filter is a question.
bool restricts(long number, long a, long c) {
  if (number == SYS_prctl) return a == PR_SET_SECCOMP;
  return number == SYS_seccomp && (a == SECCOMP_SET_MODE_STRICT || (a == SECCOMP_SET_MODE_FILTER && c != 0));
}

using SystemCall = long (*)(long, ...);

__attribute__((noinline)) long pass_on(SystemCall real, long number, long a, long b, long c, long d, long e, long f) {
  if (restricts(number, a, c)) leave_before_seccomp();
  if (forks(number, a, b) && before_bare_fork()) {
    long result = real(number, a, b, c, d, e, f);
    after_bare_fork(result);
    return result;
  }
  if (number != SYS_unshare && number != SYS_setns) return real(number, a, b, c, d, e, f);
  return without_writer([=] { return real(number, a, b, c, d, e, f); });
}

bool waits(int command) {
  return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI ||
         command == FUTEX_LOCK_PI2 || command == FUTEX_WAIT_REQUEUE_PI;
}
bool wakes(int command) {
  return command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET || command == FUTEX_WAKE_OP ||
         command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE || command == FUTEX_CMP_REQUEUE_PI ||
         command == FUTEX_UNLOCK_PI;
}

}  // namespace
}  // namespace hostprobe::probe

using namespace hostprobe::probe;

// Whoever arrives last lets the others go; each arrival leaves its name, so the last one's stays.
HP_WAIT_HOOK(pthread_barrier_wait, "GLIBC_2.34", (pthread_barrier_t * barrier)) {
  auto real = libc_real<int (*)(pthread_barrier_t*)>(g_hook_pthread_barrier_wait);
  if (!recording_or_begun(Moment::kPlain)) return real(barrier);
  note_wake(g_hook_pthread_barrier_wait, barrier);
  return paired_wait(
      g_hook_pthread_barrier_wait, barrier, HP_SITE, [=] { return real(barrier); }, error_of_barrier);
}

// Whoever finds the initialisation not begun runs it, which is work; whoever finds it in progress waits.
HP_WAIT_HOOK(pthread_once, "GLIBC_2.34", (pthread_once_t * control, void (*routine)())) {
  auto real = libc_real<Once>(g_hook_pthread_once);
  if (!recording()) return real(control, routine);
  mark_used(g_hook_pthread_once);
  int before = __atomic_load_n(control, __ATOMIC_ACQUIRE);
  if (before == PTHREAD_ONCE_INIT || before == done_value(real)) return real(control, routine);
  return timed_wait(
      g_hook_pthread_once, control, HP_SITE, [=] { return real(control, routine); }, result_itself);
}

HP_WAIT_HOOK(pthread_join, "GLIBC_2.34", (pthread_t thread, void** value)) {
  auto real = libc_real<int (*)(pthread_t, void**)>(g_hook_pthread_join);
  int result = 0;
  if (!recording_or_begun(Moment::kPlain)) return real(thread, value);
  if (joined_at_once(thread, value, result)) return result;
  return paired_wait(
      g_hook_pthread_join, object_of(thread), HP_SITE, [=] { return real(thread, value); }, error_of_join);
}

HP_WAIT_HOOK(pthread_timedjoin_np, "GLIBC_2.34", (pthread_t thread, void** value, const timespec* limit)) {
  auto real = libc_real<int (*)(pthread_t, void**, const timespec*)>(g_hook_pthread_timedjoin_np);
  int result = 0;
  if (!recording_or_begun(Moment::kPlain)) return real(thread, value, limit);
  if (joined_at_once(thread, value, result)) return result;
  return paired_wait(
      g_hook_pthread_timedjoin_np, object_of(thread), HP_SITE, [=] { return real(thread, value, limit); },
      error_of_join);
}

HP_WAIT_HOOK(pthread_clockjoin_np, "GLIBC_2.34",
             (pthread_t thread, void** value, clockid_t clock, const timespec* limit)) {
  auto real = libc_real<int (*)(pthread_t, void**, clockid_t, const timespec*)>(g_hook_pthread_clockjoin_np);
  int result = 0;
  if (!recording_or_begun(Moment::kPlain) || !plain_clock(clock)) return real(thread, value, clock, limit);
  if (joined_at_once(thread, value, result)) return result;
  return paired_wait(
      g_hook_pthread_clockjoin_np, object_of(thread), HP_SITE, [=] { return real(thread, value, clock, limit); },
      error_of_join);
}

// The waits and wakes among the system calls go by this name; it is no symbol of its own.
HP_WAIT_ROW(futex, "", "object:hex")
HP_ROW(kWait, syscall, "GLIBC_2.2.5", 0, 0, nullptr, "", "", "", "", "")

// syscall(number, …) passes on whatever it got: up to six words, whether or not the caller gave them all.
extern "C" HP_EXPORT long hp_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");
extern "C" long hp_syscall(long number, long a, long b, long c, long d, long e, long f) {
  auto real = libc_real<SystemCall>(g_hook_syscall);
  if (number != SYS_futex) return pass_on(real, number, a, b, c, d, e, f);
  if (!recording()) return real(number, a, b, c, d, e, f);
  mark_used(g_hook_syscall);
  int command = static_cast<int>(b) & FUTEX_CMD_MASK;
  const void* word = reinterpret_cast<const void*>(a);
  if (waits(command))
    return paired_wait(
        g_hook_futex, word, HP_SITE, [=] { return real(number, a, b, c, d, e, f); }, error_of_futex);
  if (wakes(command)) note_wake(g_hook_futex, word);
  return real(number, a, b, c, d, e, f);
}
