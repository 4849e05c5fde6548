// trace.h: the trace file under the hands of whoever writes it: opened, its header kept true, closed.
//
// Room 2 (probe/). The writer thread, or the thread that ends the trace where there is none.
#pragma once

#include "format/file.h"

namespace hostprobe::probe {

// Opened anew each time unless the table is its own: the program may have closed the descriptor and got it again for a
// file of its own. False: it cannot be opened; everything stays in the segment, where a reader finds it.
bool ready_to_write();
void done_writing();
// The new writer, in whose table of descriptors the file stays open; `parked`: file/passed_file.h. And before it ends its thread.
void take_trace_over(int parked);
void hand_trace_on();

// Totals, clocks and costs as they are now. False: the file did not take it.
bool refresh_header(FileState state);

}  // namespace hostprobe::probe
