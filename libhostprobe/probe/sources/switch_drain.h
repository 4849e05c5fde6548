// switch_drain.h: switches of the program's threads, from the kernel's perf buffers into blocks of the file.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. Whether they are recorded at all is decided in switches.h.
#pragma once

#include "probe/sources/switch_limit.h"

namespace hostprobe::probe {

// On failure nothing is left open. `times`: of the usual rates (switch_limit.h).
RingFailure open_switches(const RingSetting& setting, double times);
void close_switches();
// First in a round: what keeps buffers that nobody reads in step, and new threads that inherit no events.
void tend_open_switches();
// /proc/self/task/TID/schedstat: how often the thread was put on a CPU. `created_ticks`: 0 = not known.
void note_run_count(std::uint32_t tid, std::uint64_t created_ticks, std::uint64_t count);
// What is new, into the file; behind the reading of those counts. Buffers that nobody reads before: only when it is `last`.
void drain_switches(bool last);
// Between rounds: threads that switch too often are left out (switch_limit.h), and a buffer that fills up is read.
void tend_full_rings();
// When to look at that again, CLOCK_MONOTONIC; kNever: nobody needs to.
std::uint64_t switch_drain_ns();

}  // namespace hostprobe::probe
