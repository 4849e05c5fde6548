// switch_counts.h: whether the kernel has told of all switches: a full perf buffer drops silently.
//
// Room 2 (probe/). On the writer thread, or whoever ends the trace. The kernel counts how often each thread was put on a CPU
// (/proc/self/task/TID/schedstat, the third number); as many records there must be, up to the moment at which that was read.
#pragma once

#include <cstdint>

#include "format/switches.h"

namespace hostprobe::probe {

// All zeros: of no thread.
class SwitchCounts {
 public:
  static constexpr unsigned kPlaces = 4096;  // a power of two; threads beyond are not counted

  // False: no memory.
  bool open();
  void close();
  // Read at `ticks`. What came before the first time counts only where the thread was `born_since` its switches are recorded.
  void note(std::uint32_t tid, std::uint64_t count, std::uint64_t ticks, bool born_since);
  // The rows of a buffer come one after the other. False: the row tells what the one before it did, because two events of the thread
  // write into this buffer.
  bool add(const SwitchRow& row, std::uint32_t ring);
  // Of a thread, of all: what comes before it is noted the next time is not compared. Rows of it were left out on purpose.
  void forget(std::uint32_t tid);
  void forget_all();
  // How many are missing up to the last note() of each thread. `comparable`: no rows were left out on purpose since the last time.
  std::uint64_t settle(bool comparable);

 private:
  struct Place {
    std::uint32_t tid;  // 0: free
    std::uint32_t ring;
    std::uint64_t base;                // the kernel's count at `since_ticks`
    std::uint64_t since_ticks;         // 0: since the thread began
    std::uint64_t count, count_ticks;  // as read last; 0: not since settle()
    std::uint64_t seen, later;         // rows in between, and behind that
    std::uint64_t last_ticks;
    std::uint32_t last_what;
    bool is_counted;
    bool is_forgotten;
  };
  Place* place_of(std::uint32_t tid);
  static void forget(Place& place);

  Place* places_;
};

}  // namespace hostprobe::probe
