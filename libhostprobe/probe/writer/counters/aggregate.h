// aggregate.h: records that leave the memory of the process without going to disk become counters: per thread, hook and place.
//
// Room 2 (probe/). The writer thread, in modes monitor and flight. The counters lie in the segment (SiteCounter), so a killed
// process leaves them as they are; one record at a time is under way, and what its counters held before stands in the header
// (Undo): so every record is counted once, whenever the process dies. Price: about 20 ns a record.
#pragma once

#include "format/file.h"

namespace hostprobe::probe {

// Adds what slots [chunk->aggregated, end) hold. Slots without a record are lost.
void aggregate(ChunkHead* chunk, std::uint32_t end);

// What the file has by now is not aggregated any more, in chunks that go on being filled.
void aggregate_only_later_records();

// Slots that were aggregated, and those of them that were lost: without a record, or without room among the counters.
std::uint64_t aggregated_slots();
std::uint64_t aggregated_lost();

// All counters into the file, as rows of that kind. How many calls are in those that it did not take.
std::uint64_t write_sums(BlockKind kind);

}  // namespace hostprobe::probe
