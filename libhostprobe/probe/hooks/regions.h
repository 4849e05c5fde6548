// regions.h: what a program says of its own time: regions of it, and numbers at moments.
//
// Room 2 (probe/). On any thread of the program, not in a signal handler.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Ticks; 0: nothing is recorded.
std::uint64_t begin_region();
// True: it was recorded. `begun` is what begin_region() said; null names are none.
bool end_region(const char* name, std::uint64_t begun, const void* site);
bool note_mark(const char* name, double value, const void* site);

}  // namespace hostprobe::probe
