// poll_cost.h: what the question costs that hooks/poll.cpp asks before a wait.
//
// Room 2 (probe/). Measured once by the writer thread.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

extern std::uint64_t g_ask_ticks;
void measure_asking();

}  // namespace hostprobe::probe
