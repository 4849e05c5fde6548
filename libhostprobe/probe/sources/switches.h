// switches.h: when the threads of this process are put on a CPU and taken off it, from the kernel's perf buffers into the trace.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. Mode trace: read on each pass, or sooner where a buffer fills up. Mode
// flight: nobody reads until a dump or the end comes. Where the kernel refuses, or the budget does not allow it, there are none,
// and an event says so.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Begins or ends the recording of switches, as settings, pauses and the budget want it; the first of a pass. Never where the program
// would see the descriptors.
void tend_switches(bool own_descriptors);
// /proc/self/task/TID/schedstat: how often the thread was put on a CPU. `created_ticks`: 0 = not known.
void note_run_count(std::uint32_t tid, std::uint64_t created_ticks, std::uint64_t count);
// Mode trace: what is new, into the file; behind the reading of those counts. Mode flight: when it is `last`.
void drain_switches(bool last);
// Between passes, mode trace: where a buffer fills up.
void drain_full_rings();
// Mode flight: what there is, into the file that blocks go to now.
void dump_switches();
// When to look at that again, CLOCK_MONOTONIC; kNever: nobody needs to.
std::uint64_t next_switches_ns();
// Before the writer ends its thread: the descriptors go with it.
void close_switches();

// What they have cost the program's threads, and whether that is a part of the budget worth giving up first.
double switch_ticks();
bool switches_weigh(std::uint64_t cost);

}  // namespace hostprobe::probe
