// system_call.cpp: syscall(): futexes that are reached through it, forks, execs, ends, filters and namespaces.
//
// Room 2 (probe/).
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "probe/process/credentials.h"
#include "probe/process/exec.h"
#include "probe/process/fork.h"
#include "probe/process/last_thread.h"
#include "probe/process/lifecycle.h"
#include "probe/process/without_writer.h"
#include "probe/record/wait.h"
#include "probe/record/wake.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/safe_memory.h"
#include "probe/writer/ending.h"

namespace hostprobe::probe {
namespace {

// The word had another value already, or the call made no sense.
int error_of_futex(long result) {
  if (result >= 0) return 0;
  return errno == ETIMEDOUT || errno == EINTR ? errno : kDidNotBlock;
}

// Into memory of its own, and on this very stack. What a bad address points to is the kernel's to refuse.
bool forks(long number, long a, long b) {
  if (number == SYS_clone3) {
    clone_args wanted{};
    return b >= CLONE_ARGS_SIZE_VER0 && Memory().copy(&wanted, static_cast<std::uint64_t>(a), CLONE_ARGS_SIZE_VER0) &&
           (wanted.flags & CLONE_VM) == 0 && wanted.stack == 0;
  }
  return is_plain_fork(number) || (number == SYS_clone && (a & CLONE_VM) == 0 && b == 0);
}

bool changes_identity(long number) {
  switch (number) {
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_setgroups:
    case SYS_setfsuid:
    case SYS_setfsgid:
    case SYS_capset:
      return true;
    default:
      return false;
  }
}

// Who the process effectively becomes by it.
uid_t user_of(long number, long a, long b) {
  if (number == SYS_setuid) return static_cast<uid_t>(a);
  return number == SYS_setreuid || number == SYS_setresuid ? static_cast<uid_t>(b) : kSame;
}

// seccomp() without a filter is a question.
bool restricts(long number, long a, long c) {
  if (number == SYS_prctl) return a == PR_SET_SECCOMP;
  return number == SYS_seccomp && (a == SECCOMP_SET_MODE_STRICT || (a == SECCOMP_SET_MODE_FILTER && c != 0));
}

ProgramAt program_of(long number, long a, long b, long e) {
  if (number == SYS_execve) return {AT_FDCWD, reinterpret_cast<const char*>(a), 0};
  return {static_cast<int>(a), reinterpret_cast<const char*>(b), static_cast<int>(e)};
}

using SystemCall = long (*)(long, ...);

long pass_exec_on(SystemCall real, long number, long a, long b, long c, long d, long e) {
  const ProgramAt program = program_of(number, a, b, e);
  const bool is_at = number == SYS_execveat;
  return with_next_environment(program, reinterpret_cast<Words>(is_at ? d : c), [&](Words given) {
    const long environment = word_of_pointer(given);
    return exec([&] { return may_be_run(program); },
                [&] { return is_at ? real(number, a, b, c, environment, e) : real(number, a, b, environment); });
  });
}

__attribute__((noinline)) long pass_on(SystemCall real, long number, long a, long b, long c, long d, long e, long f) {
  if (restricts(number, a, c)) leave_before_seccomp();
  if (number == SYS_exit && trace_is_ours() && is_last_thread()) {
    end_trace();
    join_finished_writer();  // the process ends with the status of its last thread, and not before
  }
  if (number == SYS_exit_group) return exec([] { return true; }, [=] { return real(number, a, b, c, d, e, f); });
  if (number == SYS_execve || number == SYS_execveat) return pass_exec_on(real, number, a, b, c, d, e);
  if (forks(number, a, b) && before_bare_fork()) {
    long result = real(number, a, b, c, d, e, f);
    after_bare_fork(result);
    return result;
  }
  if (changes_identity(number)) {
    CredentialsChange change(user_of(number, a, b));
    return change.done(real(number, a, b, c, d, e, f));
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

// The waits and wakes among the system calls go by this name; it is no symbol of its own.
HP_WAIT_ROW(kFutex, futex, "", "object:hex")
HP_ROW(kWait, kOther, syscall, "GLIBC_2.2.5", 0, 0, "", "", "", "", "")

// syscall(number, …) passes on whatever it got: up to six words, whether or not the caller gave them all.
extern "C" HP_EXPORT long hp_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");
extern "C" long hp_syscall(long number, long a, long b, long c, long d, long e, long f) {
  auto real = libc_target<SystemCall>(g_hook_syscall);
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
