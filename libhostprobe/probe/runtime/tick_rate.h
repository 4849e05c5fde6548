// tick_rate.h: how fast the clock ticks, and with it the limits of the hot path, which are settings in microseconds.
//
// Room 2 (probe/). Measured by the writer, better and better.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

std::uint64_t ticks_of(std::uint64_t us);
// By what is known so far.
void apply_limits();
void refine_tick_rate();

}  // namespace hostprobe::probe
