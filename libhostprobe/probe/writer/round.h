// round.h: a round of the writer: all of its work, in the order in which it is done, four times a second.
//
// Room 2 (probe/). The writer thread, the file being open; the last round by whoever ends the trace. Nothing here waits for a lock of
// the program's.
#pragma once

namespace hostprobe::probe {

// Before the first one: what recording costs here, how fast the clock ticks.
void prepare_rounds();
void work_round();
// Everything that there is, into the file. False: its header did not take it.
bool work_last_round();
// Between two of them, where a thread has rung: what must not wait.
void work_between();

}  // namespace hostprobe::probe
