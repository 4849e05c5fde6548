// segment_copy.h: what the shared memory of a process still holds, copied out.
//
// Room 3. The segment may be written by a live process at this moment: everything is copied first and kept only if it
// was whole and stable. Used by the reader when a trace is still open; recover.cpp removes the segment afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace.h"

namespace hostprobe::analysis {

// Consecutive finished records of one thread.
struct SegmentRun {
  ThreadKey key;
  std::uint64_t first_sequence;
  std::vector<std::byte> records;
};

// The running numbers a chunk still owes to the file, and how many of them were finished.
struct SegmentRange {
  ThreadKey key;
  std::uint64_t first_sequence;
  std::uint64_t end_sequence;
  std::uint64_t finished;
};

struct SegmentCopy {
  SegmentHeader header{};
  std::vector<ThreadEntry> threads;
  std::vector<std::pair<std::uint32_t, StackEntry>> stacks;  // index and entry
  std::vector<SiteSums> shorts;
  std::vector<std::byte> strings;
  std::vector<SegmentRun> runs;
  std::vector<SegmentRange> ranges;
};

// Nothing when there is no such segment, it belongs to somebody else, or its own description does not fit its size;
// `why` then says which.
std::optional<SegmentCopy> copy_segment(std::int32_t segment_id, std::uint64_t cookie, std::string& why);

}  // namespace hostprobe::analysis
