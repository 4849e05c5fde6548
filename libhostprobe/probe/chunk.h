// chunk.h: the segment of this process and the chunks in it.
//
// Room 2 (probe/). A thread fills one chunk at a time and hands it over whole: full chunks go to the writer through a
// moodycamel::ConcurrentQueue with a token per thread, empty ones come back through another. Nothing here waits: without
// a free chunk the record is dropped, counted, and the program goes on.
#pragma once

#include "format/segment.h"

namespace hostprobe::probe {

inline constexpr std::uint32_t kThreads = 512;
inline constexpr std::uint32_t kStacks = 1024;
inline constexpr std::uint32_t kShorts = 1024;                   // at most
inline constexpr std::uint32_t kSums = 1024;                     // at most
inline constexpr std::uint32_t kStringsBytes = 512 * 1024 - 64;  // ids must fit 16 bits

struct Segment {
  SegmentHeader* header;
  ThreadEntry* threads;
  StackEntry* stacks;
  SiteSums* shorts;
  SiteSums* sums;
  char* strings;
  char* chunks;
  int id;  // System V id; -1: memory that dies with the process
};

extern Segment g_segment;

// Makes the segment and the queues. Async-signal-safe. False: no memory; the reason has been said.
bool make_segment();

ChunkHead* chunk_at(std::uint32_t index);
std::uint32_t chunk_index(const ChunkHead* chunk);

// A free chunk, state kChunkFilling and its lap raised; nullptr: none.
ChunkHead* take_chunk();
// Hands a chunk that thread `thread` filled to the writer. False: the queue is out of memory.
bool hand_over(std::uint32_t thread, ChunkHead* chunk);
// The writer's side: the next full chunks, at most `most`; giving an empty one back; growing the pool ahead of need.
std::uint32_t next_full_chunks(ChunkHead** chunks, std::uint32_t most);
void recycle_chunk(ChunkHead* chunk);
// Whether the writer should not sleep on: full chunks enough for a large block, or few free ones.
bool writer_is_needed();
void grow_pool();

// After fork, in the child: the parent's segment is leaked on purpose, stale pointers into it must stay valid.
void forget_segment();

}  // namespace hostprobe::probe
