// flight.h: mode flight: the full chunks of the last seconds, oldest first, and the dumps that are written of them.
//
// Room 2 (probe/). The writer thread. What is too old, or too much, is aggregated (aggregate.h) and its chunk goes back to the
// threads. A dump is a file of its own beside the trace, so that the oldest can go when they take too much disk; what it
// holds has been aggregated too, so nothing is missing from the totals when it goes.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

// HOSTPROBE_FLIGHT_S.

// Takes a full chunk as the newest.
void keep_chunk(ChunkHead* chunk);
// Aggregates and gives back what is too old or too much.
void age_kept_chunks();
// Writes a dump when a trigger waits, and notes it in the trace.
void answer_trigger();
// Triggers that came too soon after another, which are noted together; at the end.
void note_refused_triggers();

}  // namespace hostprobe::probe
