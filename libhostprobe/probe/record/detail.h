// detail.h: how much detail hostprobe gives up at the moment, so that it costs the program no more than HOSTPROBE_BUDGET.
//
// Room 2 (probe/). control/budget.h decides it, four times a second at most; whatever records less then looks here. The hot path does
// not: its limits (limits.h) and its gate (gate.h) are moved instead.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// What is shed at a level; a higher one sheds what is below it too, but for switches that cost next to nothing.
enum Shed : std::uint32_t {
  kShedNothing = 0,
  kShedSwitches = 1,  // context switches are not recorded (sources/switches.h), and nothing of the machine is measured
  kShedStacks = 2,    // running threads are sampled more seldom, and waits carry call stacks more seldom (times_rarer)
  kShedShortWaits =
      3,  // not at all, but for the first stack of each place; waits, reads and queries below 100 µs are aggregated or counted
  kShedLaunches = 4,  // launches are recorded in every fourth quarter of a second, and counted (ThreadEntry::skipped)
};
inline constexpr unsigned kShedLevels = 5;

// The writer.
void shed_detail(Shed level, bool switches);

// How much is shed now.
Shed detail_shed();
bool switches_shed();

// By which factor there is more time from one sample or call stack to the next.
std::uint32_t times_rarer();

// A limit below which calls leave no record, as it is at this level.
std::uint64_t limit_us(std::uint64_t wanted_us);

}  // namespace hostprobe::probe
