// process/namespace.cpp: a program enters other namespaces, which some allow only to a process of one thread.
//
// Room 2 (probe/). Nothing is recorded here. Cold; the writer goes only after the kernel has refused the call.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "probe/process/last_thread.h"
#include "probe/process/without_writer.h"
#include "probe/record/hook.h"
#include "probe/writer/file/passed_file.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/own_thread.h"

namespace hostprobe::probe {
namespace {

// A thread that was joined is still counted by the kernel until nobody can see it any more.
void await_gone(std::uint32_t tid) {
  char path[40];
  snprintf(path, sizeof path, "/proc/self/task/%u", tid);
  for (int i = 0; i < 100000 && access(path, F_OK) == 0; ++i) sched_yield();
}

}  // namespace

bool writer_went(int error) {
  if (error != EINVAL && error != EUSERS) return false;
  if (!trace_is_open() || t_local.muted != 0 || t_local.taking) return false;
  t_local.taking = true;  // a signal handler's hook must not start it again meanwhile
  bool alone = alone_with_writer();
  if (alone) {
    std::uint32_t tid = writer_tid();
    const int file = open_by_path();
    FileReceiver receiver(file < 0);
    send_writer_away(0);
    park_file(file >= 0 ? file : receiver.take());
    await_gone(tid);
  }
  t_local.taking = alone;
  errno = error;
  return alone;
}

void bring_writer_back() {
  int saved = errno;
  t_local.taking = false;
  let_writer_return();
  errno = saved;
}

}  // namespace hostprobe::probe

using namespace hostprobe::probe;

HP_ROW(kThread, kOther, unshare, "GLIBC_2.4", 0, 0, "", "", "", "", "")
extern "C" HP_EXPORT int hp_unshare(int flags) __asm__("unshare");
extern "C" int hp_unshare(int flags) {
  auto real = libc_target<int (*)(int)>(g_hook_unshare);
  mark_used(g_hook_unshare);
  return without_writer([=] { return real(flags); });
}

HP_ROW(kThread, kOther, setns, "GLIBC_2.14", 0, 0, "", "", "", "", "")
extern "C" HP_EXPORT int hp_setns(int fd, int type) __asm__("setns");
extern "C" int hp_setns(int fd, int type) {
  auto real = libc_target<int (*)(int, int)>(g_hook_setns);
  mark_used(g_hook_setns);
  return without_writer([=] { return real(fd, type); });
}
