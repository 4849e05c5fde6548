// switches.h: when the threads of this process are put on a CPU and taken off it, from the kernel's perf buffers into the trace.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. Mode trace: read on each pass, or sooner where a buffer fills up. Mode
// flight: nobody reads until a dump or the end comes. Where the kernel refuses, or the budget does not allow it, there are none,
// and an event says so.
#pragma once

#include <cstdint>

#include "probe/sources/source.h"

namespace hostprobe::probe {

// Begins or ends the recording of switches, as settings, pauses and the budget want it. Never where the program would see the descriptors.
void tend_switches(const Round& round);
// Mode trace: what is new, into the file; behind the reading of the kernel's counts (thread_times.h). Mode flight: in the last round.
void note_switches(const Round& round);
// Mode flight: what there is, into the file that blocks go to now.
void dump_switches();
// When to look at that again, CLOCK_MONOTONIC; kNever: nobody needs to.
std::uint64_t switches_due(const Round& round);
// The descriptors go with the writer's thread.
void end_switches(bool has_file);

// What they have cost the program's threads.
double switch_ticks();

}  // namespace hostprobe::probe
