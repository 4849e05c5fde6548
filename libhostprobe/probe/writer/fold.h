// fold.h: records that leave the memory of the process without going to disk become sums: per thread, hook and place.
//
// Room 2 (probe/). The writer thread, in modes monitor and flight. The sums lie in the segment (SiteSums), so a killed
// process leaves them as they are; one record at a time is under way, and what its sums held before stands in the header
// (Undo): so every record is counted once, whenever the process dies. Price: about 20 ns a record.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

// Adds what slots [chunk->folded, end) hold. Slots without a record are lost.
void fold(ChunkHead* chunk, std::uint32_t end);

// Slots that were folded, and those of them that were lost: without a record, or without room among the sums.
std::uint64_t folded_slots();
std::uint64_t folded_lost();

// All sums into the file. How many calls are in those that it did not take.
std::uint64_t write_sums();

}  // namespace hostprobe::probe
