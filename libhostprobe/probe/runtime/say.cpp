// say.cpp: see say.h.
#include "probe/runtime/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "probe/runtime/at_start.h"

namespace hostprobe::probe {
namespace {

constexpr int kMostLines = 16;
std::atomic<int> g_lines{0};
HP_START_DATA dev_t g_stderr_device = 0;
HP_START_DATA ino_t g_stderr_inode = 0;
HP_START_DATA bool g_stderr_known = false;

bool stderr_is_the_same() {
  struct stat now;
  return g_stderr_known && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == g_stderr_device &&
         now.st_ino == g_stderr_inode;
}

}  // namespace

HP_START_CODE void remember_stderr() {
  struct stat now;  // the kernel's own form on x86-64
  g_stderr_known = system_call(SYS_fstat, STDERR_FILENO, word_of_pointer(&now)) == 0;
  if (!g_stderr_known) return;
  g_stderr_device = now.st_dev;
  g_stderr_inode = now.st_ino;
}

void say(const char* format, ...) {
  if (g_lines.fetch_add(1, std::memory_order_relaxed) >= kMostLines) return;
  int saved = errno;
  if (stderr_is_the_same()) {
    char line[768];
    int used = snprintf(line, sizeof line, "hostprobe[%d]: ", static_cast<int>(getpid()));
    va_list list;
    va_start(list, format);
    int more = vsnprintf(line + used, sizeof line - static_cast<unsigned>(used) - 1, format, list);
    va_end(list);
    int most = static_cast<int>(sizeof line) - 2;
    int length = more < 0 ? used : (used + more > most ? most : used + more);
    line[length] = '\n';
    // Not write(): that is hooked, and this is not the program's.
    long written = syscall(SYS_write, STDERR_FILENO, line, static_cast<unsigned>(length) + 1);
    (void)written;  // nowhere to complain to
  }
  errno = saved;
}

}  // namespace hostprobe::probe
