// exits.cpp: processes that end or fork in ways that nobody tells us of.
//
// Room 2 (probe/).
#include <unistd.h>

#include "probe/process/fork.h"
#include "probe/process/lifecycle.h"
#include "probe/record/hook.h"

using namespace hostprobe::probe;

// Processes that leave without exit(): data-loader workers do. Their trace is complete all the same.
#define HP_EXIT_HOOK(name)                                                                  \
  HP_ROW(kThread, kOther, name, "GLIBC_2.2.5", 0, 0, "", "", "", "", "")                    \
  extern "C" HP_EXPORT __attribute__((noreturn)) void hp_##name(int status) __asm__(#name); \
  extern "C" void hp_##name(int status) {                                                   \
    auto real = libc_target<void (*)(int)>(g_hook_##name);                                  \
    mark_used(g_hook_##name);                                                               \
    end_trace();                                                                            \
    real(status);                                                                           \
    __builtin_unreachable();                                                                \
  }
HP_EXIT_HOOK(_exit)
HP_EXIT_HOOK(_Exit)

// fork without the handlers of pthread_atfork: nobody tells us, so we stand in front of it.
HP_ROW(kThread, kOther, _Fork, "GLIBC_2.34", 0, 0, "", "", "", "", "")
extern "C" HP_EXPORT pid_t hp_fork_bare() __asm__("_Fork");
extern "C" pid_t hp_fork_bare() {
  auto real = libc_target<pid_t (*)()>(g_hook__Fork);
  if (!before_bare_fork()) return real();
  pid_t child = real();
  after_bare_fork(child);
  return child;
}
