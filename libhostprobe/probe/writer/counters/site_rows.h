// site_rows.h: which row of the segment's counters belongs to a thread, hook and place; and rows into the file.
//
// Room 2 (probe/). On the writer thread. There are as many rows as there are: when none is free, those of
// threads that have ended and of which nothing is in memory any more go to the file and make room.
#pragma once

#include "format/file.h"

namespace hostprobe::probe {

// The row; a new one where there is none. nullptr: no room. `chunk` names the thread.
SiteCounter* site_row(const ChunkHead& chunk, std::uint64_t key, std::uint64_t object);

bool has_free_row();

// At the end of the trace: those of threads that have been merged, and then every row, into the file; what it does not take is lost.
void write_last_rows();
// Every row into the file. How many calls are in those that it did not take.
std::uint64_t write_all_rows(BlockKind kind);

}  // namespace hostprobe::probe
