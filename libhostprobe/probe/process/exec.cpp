// exec.cpp: the program becomes another one, and keeps its process.
//
// Room 2 (probe/). Nothing is recorded here. Cold. The kernel ends all threads and all memory of the old program, but not its
// System V segment, and nobody would know of that any more. So the trace is complete before the call, and goes on after one that
// fails. Most that fail do so because there is no such file, often a dozen in a row along PATH: those are seen coming, and
// passed on untouched. execl and its like are passed on as what they are made of: arguments on the stack cannot be.
#include "probe/process/exec.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/process/lifecycle.h"
#include "probe/record/hold.h"
#include "probe/record/hook.h"
#include "probe/record/shelter.h"
#include "probe/runtime/at_start.h"

extern char** environ;

namespace hostprobe::probe {

bool exec_ends_trace() { return trace_is_ours(); }

// A kernel that does not know the question, or a filter that forbids it, leaves it open.
bool may_be_run(int folder, const char* path, int flags) {
  const long at = word_of_pointer(path);
  const long allowed = system_call(SYS_faccessat2, folder, at, X_OK, AT_EACCESS | flags);
  if (allowed < 0) return allowed == -ENOSYS || allowed == -EPERM || allowed == -EINVAL;
  struct statx file {};
  const long known = system_call_of_six(SYS_statx, folder, at, flags, STATX_TYPE, word_of_pointer(&file), 0);
  return known != 0 || S_ISREG(file.stx_mode);
}

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

constexpr std::size_t kLongestPath = 512;  // a signal handler's stack may be small

// `folder`, of `length`, and `file`. False: it is longer than that.
bool join(const char* folder, std::size_t length, const char* file, char (&path)[kLongestPath]) {
  const std::size_t rest = length_of(file) + 1;
  if (length + 1 + rest > kLongestPath) return false;
  memcpy(path, folder, length);
  if (length != 0) path[length++] = '/';
  memcpy(path + length, file, rest);
  return true;
}

// As execvp looks for it.
__attribute__((noinline)) bool may_be_found(const char* file) {
  if (strchr(file, '/') != nullptr) return may_be_run(AT_FDCWD, file, 0);
  const char* folders = value_of(environ, "PATH");
  if (folders == nullptr) folders = "/bin:/usr/bin";
  for (;;) {
    const char* end = strchrnul(folders, ':');
    char path[kLongestPath];
    if (!join(folders, static_cast<std::size_t>(end - folders), file, path)) return true;
    if (may_be_run(AT_FDCWD, path, 0)) return true;
    if (*end == 0) return false;
    folders = end + 1;
  }
}

std::size_t count_arguments(va_list list) {
  va_list copy;
  va_copy(copy, list);
  std::size_t count = 1;
  while (va_arg(copy, char*) != nullptr) ++count;
  va_end(copy);
  return count;
}

using Words = char* const*;
using Exec = int (*)(const char*, Words);
using ExecWith = int (*)(const char*, Words, Words);
using ExecOpened = int (*)(int, Words, Words);
using ExecAt = int (*)(int, const char*, Words, Words, int);

}  // namespace
}  // namespace hostprobe::probe

using namespace hostprobe::probe;

// By a function of our own, which nobody stands in front of.
#define HP_EXEC_HOOK(name, versions, Type, may_succeed, params, ...)                                       \
  HP_ROW(kThread, name, versions, 0, 0, nullptr, "", "", "", "", "")                                       \
  static int run_by_##name params {                                                                        \
    auto real = libc_target<Type>(g_hook_##name);                                                          \
    return exec([=] { return mark_used(g_hook_##name), may_succeed; }, [=] { return real(__VA_ARGS__); }); \
  }                                                                                                        \
  extern "C" HP_EXPORT int hp_##name params __asm__(#name);                                                \
  extern "C" int hp_##name params { return run_by_##name(__VA_ARGS__); }

HP_EXEC_HOOK(execve, "GLIBC_2.2.5", ExecWith, may_be_run(AT_FDCWD, path, 0),
             (const char* path, Words arguments, Words environment), path, arguments, environment)
HP_EXEC_HOOK(execv, "GLIBC_2.2.5", Exec, may_be_run(AT_FDCWD, path, 0), (const char* path, Words arguments), path,
             arguments)
HP_EXEC_HOOK(execvp, "GLIBC_2.2.5", Exec, may_be_found(file), (const char* file, Words arguments), file, arguments)
HP_EXEC_HOOK(execvpe, "GLIBC_2.11", ExecWith, may_be_found(file),
             (const char* file, Words arguments, Words environment), file, arguments, environment)
HP_EXEC_HOOK(fexecve, "GLIBC_2.2.5", ExecOpened, may_be_run(fd, "", AT_EMPTY_PATH),
             (int fd, Words arguments, Words environment), fd, arguments, environment)
HP_EXEC_HOOK(execveat, "GLIBC_2.34", ExecAt, may_be_run(folder, path, flags),
             (int folder, const char* path, Words arguments, Words environment, int flags), folder, path, arguments,
             environment, flags)

// The arguments from `first` on lie behind it, up to a null pointer; `result` may take what comes after that.
#define HP_EXECL_HOOK(name, result)                                                            \
  HP_ROW(kThread, name, "GLIBC_2.2.5", 0, 0, nullptr, "", "", "", "", "")                      \
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
