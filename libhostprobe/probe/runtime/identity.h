// identity.h: which process this is: when it began, and which one it was forked from.
//
// Room 2 (probe/). Set by the constructor and in forked children.
#pragma once

#include <cstdint>

#include "format/file.h"

namespace hostprobe::probe {

// The clocks when the library was loaded, or when this process was forked.
ClockPair load_clock();
void note_load(const ClockPair& clock);

// The process this one was forked from; 0: none that recorded.
std::uint32_t forked_from();
void note_fork(std::uint32_t parent, const ClockPair& clock);

}  // namespace hostprobe::probe
