// short_wait_rows.h: the segment's short waits (record/short_waits.h) as rows in the file.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. A row of a thread goes on counting until that has ended; then what
// it holds is written for the last time, or merged, and its place is free for another thread.
#pragma once

#include "format/file.h"

namespace hostprobe::probe {

// Those that have changed since they were written.
void write_living_short_waits();
// All that some thread has, as they are now.
void write_owned_short_waits(BlockKind kind);
// Those of thread entry `index`, which has ended: everything, and its places are free again. What the file does not take
// stays where it is, named by thread and place, and is tried again with the living ones.
void write_last_short_waits(std::uint32_t index, bool merged);
// Those that the file never took: they are lost with the segment.
void count_lost_short_waits();

}  // namespace hostprobe::probe
