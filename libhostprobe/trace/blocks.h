// blocks.h: the blocks of a trace file, one after the other, and what each kind adds to a Trace.
//
// Room 3. BlockWalk knows heads and checksums and finds the way behind damage; BlockContent knows what is inside a
// block. Both are driven by reader.cpp and trust no length they read.
#pragma once

#include <optional>

#include "trace.h"

namespace hostprobe::analysis {

struct Block {
  BlockKind kind;
  std::uint64_t offset;  // of its head, in the file
  std::uint64_t bytes;   // head and payload
  const std::byte* payload;
  std::uint64_t payload_bytes;
};

class BlockWalk {
 public:
  BlockWalk(const MappedFile& file, std::uint64_t start);

  // The next block that is whole; false at the end of the file.
  bool next(Block& block);

  // After the last next(): every byte range that belongs to no whole block.
  std::vector<Damage>& damages() { return damages_; }
  // The file ends inside a block, or in zeros that were never written: what a kill leaves behind.
  bool cut_short() const { return cut_short_; }

 private:
  std::optional<BlockHead> head_at(std::uint64_t offset) const;
  bool whole_at(std::uint64_t offset, Block& block, std::string& why);
  void skip_damage(std::uint64_t from, const std::string& why);
  std::uint64_t next_head(std::uint64_t from) const;

  const MappedFile& file_;
  std::uint64_t offset_;
  std::uint64_t released_ = 0;  // up to here the file is in memory no more
  std::uint64_t checked_bytes_ = 0;
  bool cut_short_ = false;
  std::vector<Damage> damages_;
};

class BlockContent {
 public:
  explicit BlockContent(Trace& trace) : trace_(trace) {}
  // False when the content contradicts itself; nothing of it was taken then.
  bool add(const Block& block);

 private:
  bool add_hooks(const Block& block);
  bool add_hook_states(const Block& block);
  bool add_modules(const Block& block);
  bool add_strings(const Block& block);
  bool add_threads(const Block& block);
  bool add_stacks(const Block& block);
  bool add_record_slice(const Block& block);
  bool add_packed_slice(const Block& block);
  bool add_slice(const RecordsHead& head, const Block& block, std::uint32_t packed_bytes);
  void hold_expanded(Slice& slice);
  bool add_clock(const Block& block);
  bool add_short_waits(const Block& block);
  bool add_sums(const Block& block);
  bool add_start_short_waits(const Block& block);
  bool add_start_counters(const Block& block);
  bool add_steps(const Block& block);
  bool add_events(const Block& block);

  Trace& trace_;
  Records records_;  // of one block
};

// Of the 4096 bytes at the head of a file.
bool header_is_whole(const std::byte* header);

// Shared with the reader, which adds the same from a segment.
void add_stack(Trace& trace, std::uint32_t index, const StackEntry& entry);
void add_records(Trace& trace, const ThreadKey& key, Slice slice, const Records& records);

}  // namespace hostprobe::analysis
