// budget.h: hostprobe keeps to HOSTPROBE_BUDGET: every second it looks at what it has cost for up to ten seconds, and detail is
// shed (record/detail.h) when that is too much for some time, a level after the other, and given back when it is far too little for long.
//
// Room 2 (probe/). The writer thread only. The cost is what the report tells (own_cost.h), held against two bounds: what the program's
// threads spend on us, which makes its steps longer, and CPU of ours in all, which somebody else may want. What is shed is part of
// that cost, or it would be given up for nothing. Every change of the level is an event in the trace.
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
  Cost cost() const { return count < 2 ? Cost{} : cost_between(readings[0], readings[count - 1]); }
};

// What has passed, against what is allowed.
struct Load {
  static constexpr std::uint32_t kAllowed = 1000, kCpuOfBudget = 2;
  // A level goes only where at least such a part of the cost goes with it.
  static constexpr double kWorthIt = 0.25;
  // In 1/1000 of their bounds: HOSTPROBE_BUDGET of wall time, and twice that of the CPU time.
  std::uint64_t threads = 0, cpu = 0;
  bool worth[kShedLevels] = {};
  bool limited = false;

  std::uint64_t worst() const { return threads > cpu ? threads : cpu; }
};
// A budget in 1/1000 %; of 0 it is no limit.
Load load_of(const Cost& cost, std::uint64_t budget);

// Looked at every second. A cost far above the budget is answered at once, one a little above it only when it stays. After
// each level that had to be shed again the next try comes later, so that a level between two does not come and go.
struct Shedding {
  static constexpr std::uint32_t kWindowsOver = 3, kFarOver = 4, kWindowsUnder = 30, kLongest = 960;
  std::uint32_t level = kShedNothing;
  std::uint32_t over = 0, under = 0;  // looks in a row
  std::uint32_t doublings = 0;        // of kWindowsUnder
  bool gave_back = false;
  bool sheds_switches = false;  // before anything else that is worth it; given back last

  std::uint32_t patience() const { return kWindowsUnder << doublings; }
};

// True: the level changed.
bool weigh(Shedding& shedding, const Load& load);

// In each of the writer's rounds, after it has counted what the threads did.
void keep_to_budget();

}  // namespace hostprobe::probe
