// hooks/sleep.cpp: sleeping, and waiting for child processes.
//
// Room 2 (probe/). A sleep always blocks. For a child the same call with WNOHANG tells first whether one has ended.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/record/child_ends.h"
#include "probe/record/wait.h"

using namespace hostprobe::probe;

namespace {

const void* object_of(long number) { return reinterpret_cast<const void*>(number); }
int error_itself(int result) { return result == EINVAL ? kDidNotBlock : result; }
int error_of_sleep(int result) { return result >= 0 ? 0 : errno == EINVAL || errno == EFAULT ? kDidNotBlock : errno; }

pid_t collected(pid_t child, const int* status) {
  if (child > 0 && status != nullptr) note_child_end(child, *status);
  return child;
}

int collected_by_id(int result, const siginfo_t* status) {
  if (result != 0 || status == nullptr || status->si_pid == 0) return result;
  if (status->si_code == CLD_EXITED)
    note_child_end(status->si_pid, W_EXITCODE(status->si_status, 0));
  else if (status->si_code == CLD_KILLED || status->si_code == CLD_DUMPED)
    note_child_end(status->si_pid, status->si_status);
  return result;
}

}  // namespace

#define HP_SLEEP_HOOK(Result, name, versions, error_of, params, args)          \
  HP_BLOCKING_HOOK(Result, name, versions, "", params) {                       \
    auto real = libc_target<Result(*) params>(g_hook_##name);                  \
    if (!recording_or_begun(Moment::kAnywhere)) return real args;              \
    return timed_wait(                                                         \
        g_hook_##name, nullptr, HP_SITE, [=] { return real args; }, error_of); \
  }

HP_SLEEP_HOOK(int, nanosleep, "GLIBC_2.2.5", error_of_sleep, (const timespec* time, timespec* rest), (time, rest))
HP_SLEEP_HOOK(int, clock_nanosleep, "GLIBC_2.17", error_itself,
              (clockid_t clock, int flags, const timespec* time, timespec* rest), (clock, flags, time, rest))
HP_SLEEP_HOOK(int, usleep, "GLIBC_2.2.5", error_of_sleep, (useconds_t microseconds), (microseconds))
HP_SLEEP_HOOK(unsigned, sleep, "GLIBC_2.2.5", never_fails, (unsigned seconds), (seconds))

// Who is collected is noted whatever the call was asked for.
#define HP_CHILD_HOOK(name, versions, params, args, ask)                                \
  HP_BLOCKING_HOOK(pid_t, name, versions, "child:i", params) {                          \
    auto real = libc_target<pid_t(*) params>(g_hook_##name);                            \
    if (!recording_or_begun(Moment::kAnywhere)) return real args;                       \
    if ((options & WNOHANG) != 0) return collected(real args, status);                  \
    if (pid_t ended = real ask; ended != 0) return collected(ended, status);            \
    pid_t ended = timed_wait(                                                           \
        g_hook_##name, object_of(child), HP_SITE, [=] { return real args; }, errno_of); \
    return collected(ended, status);                                                    \
  }

HP_CHILD_HOOK(waitpid, "GLIBC_2.2.5", (pid_t child, int* status, int options), (child, status, options),
              (child, status, options | WNOHANG))
HP_CHILD_HOOK(wait4, "GLIBC_2.2.5", (pid_t child, int* status, int options, struct rusage* usage),
              (child, status, options, usage), (child, status, options | WNOHANG, usage))

HP_BLOCKING_HOOK(pid_t, wait, "GLIBC_2.2.5", "", (int* status)) {
  auto real = libc_target<pid_t (*)(int*)>(g_hook_wait);
  if (!recording_or_begun(Moment::kAnywhere)) return real(status);
  auto ask = libc_target<pid_t (*)(pid_t, int*, int)>(g_hook_waitpid);
  if (pid_t ended = ask(-1, status, WNOHANG); ended != 0) return collected(ended, status);
  pid_t ended = timed_wait(
      g_hook_wait, nullptr, HP_SITE, [=] { return real(status); }, errno_of);
  return collected(ended, status);
}

HP_BLOCKING_HOOK(int, waitid, "GLIBC_2.2.5", "child:i", (idtype_t type, id_t child, siginfo_t* status, int options)) {
  auto real = libc_target<int (*)(idtype_t, id_t, siginfo_t*, int)>(g_hook_waitid);
  if (!recording_or_begun(Moment::kAnywhere)) return real(type, child, status, options);
  if ((options & WNOHANG) != 0) return collected_by_id(real(type, child, status, options), status);
  int result = timed_wait(
      g_hook_waitid, object_of(child), HP_SITE, [=] { return real(type, child, status, options); }, errno_of);
  return collected_by_id(result, status);
}
