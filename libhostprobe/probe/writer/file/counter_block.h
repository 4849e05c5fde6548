// counter_block.h: one SiteCounter as a row in the trace file, without its empty buckets.
//
// Room 2 (probe/). A thread may go on counting meanwhile.
#pragma once

#include "format/file.h"

namespace hostprobe::probe {

// As kBlockShortWaits and kBlockStartShortWaits (SiteRow), or as one of the others (CounterRow). False: the file did not take it.
bool write_row(BlockKind kind, const SiteCounter& counters);

// How many calls are in it.
std::uint64_t count_of(const Spans& spans);

}  // namespace hostprobe::probe
