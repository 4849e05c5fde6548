// own_cost.h: what hostprobe costs this process, between two moments.
//
// Room 2 (probe/). By the writer, after it has counted what the threads did. The formula is the report's (format/own_cost.h).
#pragma once

#include <cstdint>

#include "probe/record/detail.h"

namespace hostprobe::probe {

// Of all that was spent, what goes with a level of detail: on the program's threads, and CPU of our own. Short waits and launches are
// not told apart. What is with no level, the names of libraries and the kernel's counts, would cost as much without any record.
struct LevelCost {
  double ticks = 0;
  std::uint64_t own_ns = 0;
};

// Up to one moment: since the process began to record, all threads together.
struct CostReading {
  std::uint64_t ns = 0, ticks = 0;
  double own_ticks = 0;              // of the program's threads
  std::uint64_t writer_ns = 0;       // as of the round before
  std::uint64_t process_cpu_ns = 0;  // ours and the program's
  LevelCost levels[kShedLevels] = {};
};
CostReading read_cost();
CostReading cost_at_start();

// In 1/1000 %: what the program's threads spend, of wall time; our own thread's CPU, of wall time; and CPU of ours in all, of the CPU
// time that the process used, or of one CPU where it used less.
struct Cost {
  std::uint64_t threads = 0, own_thread = 0, cpu = 0;
  double of_level[kShedLevels] = {};  // as a part of all of it, 0 to 1
};
Cost cost_between(const CostReading& from, const CostReading& to);

}  // namespace hostprobe::probe
