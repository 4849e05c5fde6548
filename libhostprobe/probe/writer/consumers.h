// consumers.h: who gets each chunk of records before its memory goes back to the threads: the one list of them.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace.
#pragma once

#include "format/segment.h"
#include "probe/writer/file/record_block.h"

namespace hostprobe::probe {

// Chunks that nobody fills any more. They are free again, or kept, when this returns.
void hand_full_chunks(ChunkHead** chunks, std::uint32_t count);
// What is new in those that are being filled.
void hand_open_chunks();
// Those that are left at the end of the trace, sorted by thread.
void hand_last_chunks(ChunkHead** chunks, std::uint32_t count);

extern RecordBlock g_trace_block;

}  // namespace hostprobe::probe
