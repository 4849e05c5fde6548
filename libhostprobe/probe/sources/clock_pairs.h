// clock_pairs.h: what the clocks of the system say at a tick, again and again: both drift, and the reader goes from one to the next.
//
// Room 2 (probe/). The writer thread; once before it, as the trace is made.
#pragma once

#include "probe/sources/source.h"

namespace hostprobe::probe {

void write_clock();
// Every two seconds in mode trace, and as the trace ends.
void note_clock(const Round& round);

}  // namespace hostprobe::probe
