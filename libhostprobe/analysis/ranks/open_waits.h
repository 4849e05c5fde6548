// open_waits.h: main threads that have been in one wait for long, put together where they are in the same.
//
// Room 3. A job that hangs is known by them: what never returns leaves no record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "answer/run.h"

namespace hostprobe::analysis {

struct LongWait {
  std::string function;
  std::string library;
  std::string python;  // "" = not known
  bool sleeps = false;
  bool ended = false;               // the processes have; it is what they were in last
  std::vector<int> ranks;           // sorted
  std::vector<std::uint32_t> pids;  // of processes that are no ranks
  double least_s = 0;
  double most_s = 0;
};

// Longest first. Of ranks, or in a run without ranks of every process that no other one forked.
std::vector<LongWait> long_waits(const RunAnswer& run);

// A call that waits for nothing but time.
bool is_sleep(const std::string& function);
// One that waits for a child process to end.
bool waits_for_child(std::string_view function);

}  // namespace hostprobe::analysis
