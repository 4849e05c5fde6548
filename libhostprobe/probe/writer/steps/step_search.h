// step_search.h: where the steps of this process end, found while it runs: marks in its records, or calls that repeat.
//
// Room 2 (probe/). The writer thread, from chunks that are handed over and, four times a second, from those that are being filled. In
// every mode: also what is only counted passes through chunks. What is found: live_steps.h.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

// Before what is new is seen, four times a second, and behind it. False: they are switched off.
bool begin_step_look();
void look_for_steps();

// What slots [.., end) of a chunk hold that was not seen yet. Before the chunk is recycled.
void see_records(ChunkHead* chunk, std::uint32_t end);

}  // namespace hostprobe::probe
