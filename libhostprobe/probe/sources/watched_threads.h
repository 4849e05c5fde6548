// watched_threads.h: the threads of the program that are worth a look: those that use CPU, the main thread first, then those that use most.
//
// Room 2 (probe/). The writer thread, four times a second, while running threads are sampled.
#pragma once

#include "format/segment.h"
#include "probe/sources/run_counts.h"
#include "probe/stacks/python_frames.h"

namespace hostprobe::probe {

inline constexpr unsigned kWatchedThreads = 16;
struct Watched {
  std::uint32_t entry;  // plus 1; 0: none
  std::uint32_t tid;
  std::uint64_t start_ticks;
  std::uint64_t used_ns;     // in the last round
  std::uint64_t looked_ns;   // CPU time at the last look
  std::uint64_t sampled_ns;  // CPU time up to which samples stand for it
  std::uint64_t find_ns;     // when its Python is looked for again
  PythonThread python;
  unsigned passed_over;  // looks in a row at which it had no CPU
};
extern Watched g_watched[kWatchedThreads];  // the main thread, then the one that used most, and so on

// By what they used since the last call.
void choose_watched_threads();
// The id of one; 0: there are not so many.
std::uint32_t watched_thread(unsigned number);

bool is_recorded(const ThreadEntry& entry);

}  // namespace hostprobe::probe
