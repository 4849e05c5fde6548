// hooks/child.cpp: waiting for child processes.
//
// Room 2 (probe/). The same call with WNOHANG tells first whether one has ended. system() and pclose() wait inside of libc, where
// nobody can stand in front of it: they count as they are.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "probe/record/child_ends.h"
#include "probe/record/wait.h"

using namespace hostprobe::probe;

namespace {

const void* object_of(long number) { return reinterpret_cast<const void*>(number); }

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

// Who is collected is noted whatever the call was asked for.
#define HP_CHILD_HOOK(name, versions, params, args, ask)                                \
  HP_BLOCKING_HOOK(pid_t, kChild, name, versions, "child:i", params) {                  \
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

HP_BLOCKING_HOOK(pid_t, kChild, wait, "GLIBC_2.2.5", "", (int* status)) {
  auto real = libc_target<pid_t (*)(int*)>(g_hook_wait);
  if (!recording_or_begun(Moment::kAnywhere)) return real(status);
  auto ask = libc_target<pid_t (*)(pid_t, int*, int)>(g_hook_waitpid);
  if (pid_t ended = ask(-1, status, WNOHANG); ended != 0) return collected(ended, status);
  pid_t ended = timed_wait(
      g_hook_wait, nullptr, HP_SITE, [=] { return real(status); }, errno_of);
  return collected(ended, status);
}

HP_BLOCKING_HOOK(int, kChild, waitid, "GLIBC_2.2.5", "child:i",
                 (idtype_t type, id_t child, siginfo_t* status, int options)) {
  auto real = libc_target<int (*)(idtype_t, id_t, siginfo_t*, int)>(g_hook_waitid);
  if (!recording_or_begun(Moment::kAnywhere)) return real(type, child, status, options);
  if ((options & WNOHANG) != 0) return collected_by_id(real(type, child, status, options), status);
  int result = timed_wait(
      g_hook_waitid, object_of(child), HP_SITE, [=] { return real(type, child, status, options); }, errno_of);
  return collected_by_id(result, status);
}

// Without a command it only says whether there is a shell.
HP_BLOCKING_HOOK(int, kChild, system, "GLIBC_2.2.5", "", (const char* command)) {
  auto real = libc_target<int (*)(const char*)>(g_hook_system);
  if (command == nullptr || !recording_or_begun(Moment::kAnywhere)) return real(command);
  return timed_wait(
      g_hook_system, nullptr, HP_SITE, [=] { return real(command); }, errno_of);
}

HP_BLOCKING_HOOK(int, kChild, pclose, "GLIBC_2.2.5", "stream:hex", (FILE * stream)) {
  auto real = libc_target<int (*)(FILE*)>(g_hook_pclose);
  if (!recording_or_begun(Moment::kAnywhere)) return real(stream);
  return timed_wait(
      g_hook_pclose, stream, HP_SITE, [=] { return real(stream); }, errno_of);
}
