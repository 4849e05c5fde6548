// switch_cost.h: what it costs a thread that the kernel notes a switch of it.
//
// Room 2 (probe/). The writer thread.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Of one record in a perf buffer, 1/1024 ticks; a switch makes two. Measured by a record that a thread can have made without being
// switched: of its own name. 0: it cannot be.
std::uint64_t measure_perf_record();

}  // namespace hostprobe::probe
