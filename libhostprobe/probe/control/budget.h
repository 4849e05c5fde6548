// budget.h: hostprobe keeps to HOSTPROBE_BUDGET: every second it looks at what it has cost for up to ten seconds, and detail is
// shed (record/detail.h) when that is too much for some time, a level after the other, and given back when it is far too little for long.
//
// Room 2 (probe/). The writer thread only. The cost is what the report tells (own_cost.h): measured costs per call times
// calls, slow paths, CPU of the writer; as a share of wall time. Every change of the level is an event in the trace.
#pragma once

#include <cstdint>

#include "probe/control/own_cost.h"
#include "probe/record/detail.h"

namespace hostprobe::probe {

// What hostprobe has cost for up to ten seconds: one loud second in a quiet run is no reason to shed anything. Emptied at each
// change of the level, since what came before says nothing of what comes. Nothing is judged by less than three seconds, or two
// where detail is shed already.
struct CostWindow {
  static constexpr unsigned kReadings = 11;
  CostReading readings[kReadings];
  unsigned count = 0;

  void add(const CostReading& reading);
  bool is_long_enough(std::uint32_t level) const { return count > (level == kShedNothing ? 3 : 2); }
  std::uint64_t cost() const { return count < 2 ? 0 : cost_between(readings[0], readings[count - 1]); }
};

// Looked at every second. A cost far above the budget is answered at once, one a little above it only when it stays. After
// each level that had to be shed again the next try comes later, so that a level between two does not come and go.
struct Shedding {
  static constexpr std::uint32_t kWindowsOver = 3, kFarOver = 4, kWindowsUnder = 30, kLongest = 960;
  std::uint32_t level = kShedNothing;
  std::uint32_t over = 0, under = 0;  // looks in a row
  std::uint32_t doublings = 0;        // of kWindowsUnder
  bool gave_back = false;
  bool switches_weigh = false;  // a part of the cost is theirs
  bool sheds_switches = false;  // before anything else that is shed while they weigh; given back last

  std::uint32_t patience() const { return kWindowsUnder << doublings; }
};

// A window that cost `cost` has passed, both in 1/1000 % of wall time; a budget of 0 is no limit. True: the level changed.
bool weigh(Shedding& shedding, std::uint64_t cost, std::uint64_t budget);

// In each of the writer's rounds, after it has counted what the threads did.
void keep_to_budget();

}  // namespace hostprobe::probe
