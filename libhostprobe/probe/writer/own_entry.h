// own_entry.h: the writer among the threads of the trace, so that reports name hostprobe's thread and its CPU time.
//
// Room 2 (probe/). The writer thread.
#pragma once

#include <cstdint>

#include "format/segment.h"

namespace hostprobe::probe {

// nullptr: the table is full.
ThreadEntry* enter_thread_table(std::uint32_t tid, const void* start_routine);
// The next writer has an entry of its own.
void leave_thread_table(ThreadEntry* entry);
// CPU time of all writers that the process has had, this one included if it is the calling thread.
std::uint64_t writers_cpu_ns();

}  // namespace hostprobe::probe
