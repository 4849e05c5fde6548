// exec.cpp: the program becomes another one, and keeps its process.
//
// Room 2 (probe/). Nothing is recorded here. Cold. The kernel ends all threads and all memory of the old program, but not its
// System V segment, and nobody would know of that any more. So the trace is complete before the call, and goes on after one that
// fails. Most that fail do so because there is no such file, often a dozen in a row along PATH: those are seen coming, and
// passed on untouched. execl and its like are passed on as what they are made of: arguments on the stack cannot be.
#include "probe/process/exec.h"

#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "probe/process/lifecycle.h"
#include "probe/record/hold.h"
#include "probe/record/hook.h"
#include "probe/record/shelter.h"
#include "probe/runtime/at_start.h"

extern char** environ;

namespace hostprobe::probe {

bool exec_ends_trace() { return trace_is_ours(); }

// The thread may be in a signal handler, so what it has interrupted must not be interrupted again.
TraceEnd::TraceEnd() : completion_(Completion::kNone) {
  launches_first();
  Shelter shelter;
  if (!hold_others()) return;
  completion_ = complete_trace();
  if (completion_ == Completion::kNone) let_others_go();
}

void TraceEnd::take_back() {
  if (completion_ == Completion::kNone) return;
  Shelter shelter;
  continue_trace(completion_);
  let_others_go();
}

namespace {

std::size_t count_arguments(va_list list) {
  va_list copy;
  va_copy(copy, list);
  std::size_t count = 1;
  while (va_arg(copy, char*) != nullptr) ++count;
  va_end(copy);
  return count;
}

using Exec = int (*)(const char*, Words);
using ExecWith = int (*)(const char*, Words, Words);
using ExecOpened = int (*)(int, Words, Words);
using ExecAt = int (*)(int, const char*, Words, Words, int);

}  // namespace
}  // namespace hostprobe::probe

using namespace hostprobe::probe;

// By a function of our own, which nobody stands in front of. `call` makes the call with the environment that the program is to
// have, `given`.
#define HP_EXEC_HOOK(name, versions, Type, params, program, environment, call)                     \
  HP_ROW(kThread, kOther, name, versions, 0, 0, "", "", "", "", "")                                \
  static int run_by_##name params {                                                                \
    const auto real = libc_target<Type>(g_hook_##name);                                            \
    const ProgramAt at program;                                                                    \
    return with_next_environment(at, environment, [&]([[maybe_unused]] Words given) {              \
      return exec([&] { return mark_used(g_hook_##name), may_be_run(at); }, [&] { return call; }); \
    });                                                                                            \
  }                                                                                                \
  extern "C" HP_EXPORT int hp_##name params __asm__(#name);                                        \
  extern "C" int hp_##name params

HP_EXEC_HOOK(execve, "GLIBC_2.2.5", ExecWith, (const char* path, Words arguments, Words environment),
             (ProgramAt{AT_FDCWD, path, 0}), environment, real(path, arguments, given)) {
  return run_by_execve(path, arguments, environment);
}
HP_EXEC_HOOK(execv, "GLIBC_2.2.5", Exec, (const char* path, Words arguments), (ProgramAt{AT_FDCWD, path, 0}), environ,
             given == environ ? real(path, arguments) : libc_target<ExecWith>(g_hook_execve)(path, arguments, given)) {
  return run_by_execv(path, arguments);
}
HP_EXEC_HOOK(execvpe, "GLIBC_2.11", ExecWith, (const char* file, Words arguments, Words environment),
             (ProgramAt{AT_FDCWD, file, 0, true}), environment, real(file, arguments, given)) {
  return run_by_execvpe(file, arguments, environment);
}
HP_EXEC_HOOK(execvp, "GLIBC_2.2.5", Exec, (const char* file, Words arguments), (ProgramAt{AT_FDCWD, file, 0, true}),
             environ,
             given == environ ? real(file, arguments) : libc_target<ExecWith>(g_hook_execvpe)(file, arguments, given)) {
  return run_by_execvp(file, arguments);
}
HP_EXEC_HOOK(fexecve, "GLIBC_2.2.5", ExecOpened, (int fd, Words arguments, Words environment),
             (ProgramAt{fd, "", AT_EMPTY_PATH}), environment, real(fd, arguments, given)) {
  return run_by_fexecve(fd, arguments, environment);
}
HP_EXEC_HOOK(execveat, "GLIBC_2.34", ExecAt,
             (int folder, const char* path, Words arguments, Words environment, int flags),
             (ProgramAt{folder, path, flags}), environment, real(folder, path, arguments, given, flags)) {
  return run_by_execveat(folder, path, arguments, environment, flags);
}

// The arguments from `first` on lie behind it, up to a null pointer; `result` may take what comes after that.
#define HP_EXECL_HOOK(name, result)                                                            \
  HP_ROW(kThread, kOther, name, "GLIBC_2.2.5", 0, 0, "", "", "", "", "")                       \
  extern "C" HP_EXPORT int hp_##name(const char* file, const char* first, ...) __asm__(#name); \
  extern "C" int hp_##name(const char* file, const char* first, ...) {                         \
    va_list list;                                                                              \
    va_start(list, first);                                                                     \
    const std::size_t count = first == nullptr ? 0 : count_arguments(list);                    \
    auto** arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));     \
    arguments[0] = const_cast<char*>(first);                                                   \
    for (std::size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*);               \
    const int failed = result;                                                                 \
    va_end(list);                                                                              \
    return failed;                                                                             \
  }

HP_EXECL_HOOK(execl, run_by_execv(file, arguments))
HP_EXECL_HOOK(execlp, run_by_execvp(file, arguments))
HP_EXECL_HOOK(execle, run_by_execve(file, arguments, va_arg(list, Words)))
