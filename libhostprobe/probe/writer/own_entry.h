// own_entry.h: the writer among the threads of the trace, so that reports name hostprobe's thread and its CPU time.
//
// Room 2 (probe/). The writer thread.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Unless the table is full.
void enter_thread_table(std::uint32_t tid, const void* start_routine);
// The next writer has an entry of its own.
void leave_thread_table();
// CPU time of all writers that the process has had, this one included if it is the calling thread.
std::uint64_t writers_cpu_ns();

}  // namespace hostprobe::probe
