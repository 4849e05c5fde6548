// thread_entries.h: the segment's entries of threads (ThreadEntry) as rows in the file, and the chunks that living ones fill.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. An entry of a thread that has ended is written for the last time,
// or merged (merge.h), and given back.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

bool is_live(ThreadEntry& entry);
std::uint32_t living_threads();
// The chunk that thread `entry` is filling, if any. It cannot be recycled meanwhile: only the caller's thread recycles.
ChunkHead* open_chunk_of(ThreadEntry& entry);

// Living entries in which something has changed; what the file does not take is tried again.
void write_changed_threads();
// All living ones, as they are now.
void write_all_threads();
// The one that merged threads share.
void write_shared_entry();
// Threads that ended: written, or merged, and their entries given back.
void drain_ended_threads(bool last);

}  // namespace hostprobe::probe
