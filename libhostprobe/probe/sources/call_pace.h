// call_pace.h: how often calls of some kind come, so that one of them can be drawn at random, whatever period the program has.
//
// Room 2 (probe/). On the writer thread. docs/decisions/0014-queue-samples.md says why the moment alone is not enough.
#pragma once

#include <cstdint>

#include "probe/runtime/clock.h"

namespace hostprobe::probe {

// What is known of it, older times counting less and less.
struct CallPace {
  static constexpr std::uint64_t kFewest = 32, kMost = 1024;
  std::uint64_t calls, ticks;

  // So many came in that time.
  void learn(std::uint64_t came, std::uint64_t in_ticks) {
    calls = calls / 2 + came;
    ticks = ticks / 2 + in_ticks;
  }
  // As many as come in that time, between these.
  std::uint64_t come_in(std::uint64_t in_ticks) const {
    if (ticks == 0) return kFewest;
    const double come = static_cast<double>(calls) / static_cast<double>(ticks) * static_cast<double>(in_ticks);
    if (come >= kMost) return kMost;
    return come <= kFewest ? kFewest : static_cast<std::uint64_t>(come);
  }
};

// `state`: 0 at first.
inline std::uint64_t random_below(std::uint64_t& state, std::uint64_t most) {
  if (state == 0) state = ticks() | 1;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % most;
}

}  // namespace hostprobe::probe
