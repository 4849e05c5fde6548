// dump.h: mode flight: what is kept of the last seconds (flight.h) becomes a file when a trigger asks for it.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace.
#pragma once

namespace hostprobe::probe {

// Writes a dump when a trigger waits, and notes it in the trace.
void answer_trigger();
// Triggers that came too soon after another, which are noted together; at the end.
void note_refused_triggers();

}  // namespace hostprobe::probe
