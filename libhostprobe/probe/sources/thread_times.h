// thread_times.h: what the kernel counts of a thread: CPU time, waiting for a CPU, how often it got one; and the name it has there.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. Two small reads for each thread, so they are spaced.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

// Whether enough time has passed to ask again.
bool thread_times_are_due(std::uint64_t now_ns);
// Into the entry; how often the thread got a CPU is for switch_drain.h.
void read_thread_times(ThreadEntry& entry);
// For how long the main thread was ready to run and did not, so far, as the kernel counts; 0: not known.
std::uint64_t main_run_delay_ns();

}  // namespace hostprobe::probe
