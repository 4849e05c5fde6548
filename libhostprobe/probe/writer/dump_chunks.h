// dump_chunks.h: the records that are in memory, into a dump.
//
// Room 2 (probe/). The writer thread, in mode flight.
#pragma once

#include "probe/writer/dump_file.h"

namespace hostprobe::probe {

// Those that are kept, whose chunks are free then, and those of the chunks that are being filled. All of them are aggregated, too. How many
// there were.
std::uint64_t dump_chunks(DumpFile& dump);

}  // namespace hostprobe::probe
