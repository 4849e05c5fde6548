// others.cpp: see others.h. An ended main thread stays among the threads of its process, as a zombie, until the last one has ended.
#include "probe/writer/others.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/runtime/of_process.h"
#include "probe/runtime/small_file.h"

namespace hostprobe::probe {
namespace {

constexpr int kNotEnded = -1;
HP_OF_PROCESS int g_status = 0;
HP_OF_PROCESS bool g_is_last = false;

// Of the main thread: the last field of its line, by whose third field it is a zombie. The second is a name that may hold a bracket.
int status_of_main_thread() {
  char text[1024];
  if (!read_small_file("/proc/self/stat", text, sizeof text)) return kNotEnded;
  const char* name_end = strrchr(text, ')');
  if (name_end == nullptr || strncmp(name_end, ") Z ", 4) != 0) return kNotEnded;
  return static_cast<int>(strtoul(strrchr(text, ' ') + 1, nullptr, 10) >> 8 & 0xff);
}

}  // namespace

bool all_others_ended() {
  constexpr nlink_t kLinksOfTwoThreads = 4;  // a folder's own two, and one for each thread
  struct stat threads;
  if (stat("/proc/self/task", &threads) != 0 || threads.st_nlink != kLinksOfTwoThreads) return false;
  const int status = status_of_main_thread();
  if (status == kNotEnded) return false;
  g_status = status;
  g_is_last = true;
  return true;
}

void end_if_last() {
  if (g_is_last) syscall(SYS_exit, g_status);
}

}  // namespace hostprobe::probe
