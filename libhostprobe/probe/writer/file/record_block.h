// record_block.h: slots of chunks become blocks of records in the file.
//
// Room 2 (probe/). Small blocks pack badly, because each begins without knowing anything; so chunks
// that continue each other go into one block, as long as nothing is missing in between. A chunk counts as drained only when
// its block is written: until then a reader finds its records in the segment.
#pragma once

#include "format/file.h"
#include "probe/record/chunk.h"

namespace hostprobe::probe {

enum CompressForm : std::uint64_t { kZstd = 0, kFast = 1, kNone = 2 };  // as options.def counts them

class RecordBlock {
 public:
  // What each record gets besides its own; with kRecordAggregated (they are in a counter too) none is lost that the file does not
  // take.
  void add_flags(std::uint16_t flags) { flags_ |= flags; }
  // Slots [chunk->drained, end). Incomplete ones in between are records that never came to be. The chunk must not be
  // recycled before write().
  void add(ChunkHead* chunk, std::uint32_t end);
  void write();

  // Written so far, lost ones included; and of those, the lost.
  std::uint64_t slots() const { return slots_; }
  std::uint64_t lost() const { return lost_; }

  static constexpr std::uint32_t kMostChunks = kPackedMost / kChunkRecords;

 private:
  bool continued_by(const ChunkHead& chunk, std::uint32_t slots) const;
  void take(const Record& record);

  std::uint16_t flags_ = 0;
  bool packed_ = false;
  RecordsHead head_{};
  ChunkHead* chunks_[kMostChunks] = {};
  std::uint32_t ends_[kMostChunks] = {};
  std::uint32_t chunk_count_ = 0;
  std::uint64_t slots_ = 0;
  std::uint64_t lost_ = 0;
};

// True for a record that is whole in this lap of its chunk. From then on it does not change.
inline bool is_complete(const Record& r, std::uint16_t lap) {
  std::uint64_t last = __atomic_load_n(reinterpret_cast<const std::uint64_t*>(&r.hook), __ATOMIC_ACQUIRE);
  return (last & 0xffff) != 0 && static_cast<std::uint16_t>(last >> 16) == lap;
}

// Behind the last whole record of a chunk that nobody fills any more, and behind the first ones of one that is being filled.
std::uint32_t last_complete(const ChunkHead* chunk);
std::uint32_t first_incomplete(const ChunkHead* chunk);

// Those of a thread side by side, in its order.
void sort_by_thread(ChunkHead** chunks, std::uint32_t count);

// Of a child of a fork, whose parent's writer may have been in the middle of a block.
void drop_parents_compressor();

}  // namespace hostprobe::probe
