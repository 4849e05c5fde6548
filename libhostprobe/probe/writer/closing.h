// closing.h: the trace is written to its end, for good or in case an exec succeeds.
//
// Room 2 (probe/). The writer thread, or whoever has kept it out.
#pragma once

namespace hostprobe::probe {

// For good. True: the trace is complete in the file and the segment can go.
bool write_the_rest();

// Of a trace that may go on (completion.h): everything into the file, which is closed, and the segment goes with the process.
// False: the file does not take it, and stays open. And open again, with a segment that stays.
bool write_to_the_end();
void write_on();

}  // namespace hostprobe::probe
