// segment_copy.h: what the shared memory of a process still holds, copied out.
//
// Room 3. The segment may be written by a live process at this moment: everything is copied first and kept only if it
// was whole and stable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace.h"

namespace hostprobe::analysis {

// Consecutive finished records of one thread, either all of them kRecordAggregated or none.
struct SegmentRun {
  ThreadKey key;
  std::uint64_t first_sequence;
  std::vector<std::byte> records;
  bool aggregated = false;
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
  std::vector<SiteCounter> shorts;
  std::vector<SiteCounter> counters;  // as of the very moment that the runs say what is in them
  std::vector<std::byte> strings;
  std::vector<SegmentRun> runs;
  std::vector<SegmentRange> ranges;
};

struct SegmentUser {
  bool alive = true;
  bool aggregates = false;  // its writer moves records into counters (modes monitor and flight)
};

// Nothing when there is no such segment, it belongs to somebody else, or its own description does not fit its size;
// `why` then says which.
std::optional<SegmentCopy> copy_segment(std::int32_t segment_id, std::uint64_t cookie, const SegmentUser& user,
                                        std::string& why);

}  // namespace hostprobe::analysis
