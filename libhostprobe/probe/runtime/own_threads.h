// own_threads.h: the threads of this process, and its descriptors, as the kernel lists them.
//
// Room 2 (probe/). Cold; the writer thread.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe/runtime/at_start.h"
#include "probe/runtime/clock.h"

namespace hostprobe::probe {

// Calls `look(number)` for each entry of a folder of /proc that is named by a number. Without opendir, which allocates.
template <class Look>
void for_each_number(const char* path, Look look) {
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  alignas(dirent64) char buffer[4096];
  for (long got; (got = system_call(SYS_getdents64, folder, word_of_pointer(buffer), sizeof buffer)) > 0;)
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') look(atoi(entry->d_name));
    }
  close(folder);
}
template <class Look>
void for_each_thread(Look look) {
  for_each_number("/proc/self/task", look);
}

inline int own_process() { return static_cast<int>(system_call(SYS_getpid, 0, 0)); }
inline int own_task() { return static_cast<int>(system_call(SYS_gettid, 0, 0)); }
inline bool is_own_thread(int tid) { return system_call(SYS_tgkill, own_process(), tid, 0) == 0; }

// When to look at all threads again: a thousandth of a core at most, however many there are.
class LookSeldom {
 public:
  template <class Look>
  void now_and_then(Look look) {
    const std::uint64_t begin_ns = read_clock_ns(CLOCK_MONOTONIC);
    if (begin_ns < next_ns_) return;
    look();
    const std::uint64_t end_ns = read_clock_ns(CLOCK_MONOTONIC), pause_ns = (end_ns - begin_ns) * 1000;
    next_ns_ = end_ns + (pause_ns > 200000000 ? pause_ns : 200000000);
  }

 private:
  std::uint64_t next_ns_;  // begins as zero
};

}  // namespace hostprobe::probe
