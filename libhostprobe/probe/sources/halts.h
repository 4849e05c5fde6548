// halts.h: times in which somebody had stopped the whole process: a signal, a debugger, a freezer.
//
// Room 2 (probe/). The writer thread only. A stopped process can tell nothing, so it is seen afterwards: more time passed than the thread
// slept, worked, wrote and waited for a CPU, the machine was not suspended, the main thread did not run meanwhile either, and the
// thread went to sleep once more than by itself.
#pragma once

#include <cstdint>

#include "probe/sources/source.h"

namespace hostprobe::probe {

// sleep_by_bell(), at most until `end_ns` (CLOCK_MONOTONIC), with a look at the clock in between.
void sleep_and_look(std::uint32_t rung, std::uint64_t end_ns, bool (*stays_awake)());

// Those that were seen since the last call, into the file.
void note_halts(const Round& round);

}  // namespace hostprobe::probe
