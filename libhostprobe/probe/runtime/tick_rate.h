// tick_rate.h: how fast the clock ticks.
//
// Room 2 (probe/). Measured by the writer, better and better.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

std::uint64_t ticks_of(std::uint64_t us);
double ticks_per_us();
// By what is known by now. False: the process began too short a time ago.
bool refine_tick_rate();

}  // namespace hostprobe::probe
