// chunk.h: the segment of this process and the chunks in it.
//
// Room 2 (probe/). A thread fills one chunk at a time and hands it over whole: full chunks go to the writer through a
// moodycamel::ConcurrentQueue with a token per thread, empty ones come back through another. Nothing here waits: without
// a free chunk the record is dropped, counted, and the program goes on.
#pragma once

#include <atomic>

#include "format/segment.h"
#include "probe/runtime/compiler.h"
#include "probe/runtime/number_or_none.h"

namespace hostprobe::probe {

inline constexpr std::uint32_t kThreads = 4096;             // entries, at most; memory only for those that were in use
inline constexpr std::uint32_t kFewThreads = 256;           // where the address space is limited
inline constexpr std::uint64_t kLimitedBytes = 384u << 10;  // of chunks, there
inline constexpr std::uint32_t kStacks = 1024;
inline constexpr std::uint32_t kShorts = 1024;                   // at most
inline constexpr std::uint32_t kCounters = 1024;                 // at most
inline constexpr std::uint32_t kStringsBytes = 512 * 1024 - 64;  // ids must fit 16 bits

struct Segment {
  SegmentHeader* header;
  ThreadEntry* threads;
  StackEntry* stacks;
  SiteCounter* shorts;
  SiteCounter* counters;
  char* strings;
  char* chunks;
  NumberOrNone id;  // System V id; -1: memory that dies with the process
};

extern HP_OURS Segment g_segment;

// Such a process keeps most of it for itself: our tables are small then, and no library is opened for compression.
bool address_space_is_limited();

// What is kept beside a ThreadEntry, for this process alone.
struct ThreadNote {
  // From reserve_thread to the thread's first instruction: see hooks/thread.cpp.
  void* (*routine)(void*);
  void* argument;
  bool polls;
  // The writer's: what the entry said when it was last written.
  std::uint64_t written_cpu, written_records, written_open;
};
ThreadNote& note_of(std::uint32_t thread);
std::uint32_t thread_of(const ThreadNote& note);

// Entries from this index on have never been taken. Of those before it, so many are free again, about.
std::uint32_t threads_used();
extern std::atomic<std::uint32_t> g_free_entries;

// Makes the segment and the queues. Async-signal-safe. False: no memory; the reason has been said.
inline constexpr std::uint32_t kFirstChunks = 64;        // pre-faulted at the start, the rest before it is needed
inline constexpr std::uint32_t kFirstChunksOfChild = 2;  // most forked children make few calls
bool make_segment(std::uint32_t first_chunks = kFirstChunks);
// Has the system free it once nobody is attached, if the calling thread can reach it. Never touches another one.
void remove_segment();

// After that, where the process goes on after all: moves what it holds to one that outlives the process again, at the same
// addresses. Nobody may write there meanwhile. False: it stays as it is.
bool renew_segment();

// For a process that becomes another user: its segment is then his, so that he may remove it, and stays its maker's. False:
// nothing was changed. Else `before` is whose it was.
bool give_segment_to(std::uint32_t user, std::uint32_t& before);

ChunkHead* chunk_at(std::uint32_t index);
std::uint32_t chunk_index(const ChunkHead* chunk);

// Counts records that are lost. By any thread, and in signal handlers.
void count_loss(LossCause cause, std::uint64_t records = 1);

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

void forget_segment();
// After fork, in the child, before forget_process(): lets go of the parent's segment, so that generations do not pile up.
// `pointed_into`: a hook of this thread was interrupted by the handler that forked, and may go on; its pointers must stay
// valid for ever.
void leave_segment(bool pointed_into);

}  // namespace hostprobe::probe
