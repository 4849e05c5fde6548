// frequency.h: how fast the CPUs run on which the program's threads do: a chain of additions, each of which needs the one before, against
// the tick counter. True in virtual machines that hide the frequency.
//
// Room 2 (probe/). The writer thread only. Every three seconds it goes to the CPU of a thread that runs, for 7 µs, and back: a CPU that was idle
// would be slow for that very reason. Threads of a real-time class are left alone, since whoever shares a CPU with one may never get it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/sources/source.h"

namespace hostprobe::probe {

// Looks whether it is time to, measures, and hands rows to the file in mode trace, and in others when the process ends.
void note_frequency(const Round& round);
// Those that are kept, into the file or the dump that is open.
void write_frequency();

// What /proc/…/stat says of a thread: it runs, in a class in which others get their turn, and on which CPU. False: it does not.
bool runs_on(const char* line, unsigned& cpu);

// The least of them where another one is within a fiftieth of it, else 0: something came between.
std::uint32_t agreed_ticks(const std::uint32_t* ticks, std::size_t count);

}  // namespace hostprobe::probe
