// flight.h: mode flight: the full chunks of the last seconds (HOSTPROBE_FLIGHT_S), oldest first.
//
// Room 2 (probe/). The writer thread. What is too old, or too much, is aggregated (counters/aggregate.h) and its chunk goes back to the
// threads; a dump takes what is left (dump.h).
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

// Takes a full chunk as the newest.
void keep_chunk(ChunkHead* chunk);
// Aggregates and gives back what is too old or too much.
void age_kept_chunks();
// For a dump, which aggregates it and gives it back; nullptr: there is none any more.
ChunkHead* take_oldest_chunk();

}  // namespace hostprobe::probe
