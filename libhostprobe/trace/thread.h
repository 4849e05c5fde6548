// thread.h: what one thread of a process wrote: slices of records, and counters of calls whose records are gone.
//
// Room 3. A slice names records where they are, in the mapped file or in the copy of a segment; nothing is copied before it is asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "answer/thread_key.h"
#include "format/segment.h"
#include "records.h"
#include "site_counters.h"

namespace hostprobe::analysis {

// Of the GPU, not a thread: see format/record.h.
inline bool is_stream(const ThreadKey& key) { return key.tid >= kStreamTid; }

// Some consecutive records of one thread. `count` of the `slots` running numbers hold a record.
struct Slice {
  const std::byte* bytes;  // the records, or of a packed block its PackedHead
  std::uint64_t first_sequence;
  std::uint64_t least_begin_ticks;
  std::uint32_t slots;
  std::uint32_t count;
  std::uint32_t packed_bytes = 0;  // 0: not packed
  std::uint32_t skipped = 0;       // records at its beginning that are somebody else's
  std::uint32_t cut = 0;           // and at its end
  std::uint32_t aggregated = 0;    // how many of them are kRecordAggregated
  bool from_segment = false;
  const std::uint8_t* expanded = nullptr;     // of a packed block, where it is held
  std::array<std::uint64_t, 4> hooks_seen{};  // a bit for each hook number of its records, modulo 256
  std::uint64_t least_end_ticks = UINT64_MAX;

  // Copied, because a file guarantees 8-byte alignment only. Throws TraceError when a packed block cannot be unpacked,
  // which it could when the trace was read.
  void append_to(Records& records) const;
  Records records() const {
    Records all;
    append_to(all);
    return all;
  }
  // Leave the first or last `numbers` out; only when none is missing.
  void drop_first(std::uint32_t numbers);
  void drop_last(std::uint32_t numbers);
  std::uint64_t end_sequence() const { return first_sequence + slots; }
  // False: no record of it is of this hook.
  bool may_hold(std::uint16_t hook) const { return (hooks_seen[hook >> 6 & 3] >> (hook & 63) & 1) != 0; }
};

struct Thread {
  ThreadKey key;
  ThreadEntry entry{};                           // zeros when only records of the thread were found
  std::vector<Slice> slices;                     // by running number, no two overlap
  std::vector<std::uint16_t> stacks;             // which stacks its records carry, sorted
  std::map<std::uint64_t, SiteSum> short_waits;  // by key, see format/segment.h
  std::map<SumKey, SiteSum> counters;            // of calls whose records are gone, or kRecordAggregated
  std::uint64_t kept = 0;                        // records, and calls that are only in the counters
  std::uint64_t summed_only = 0;                 // of those, calls without a record
  std::uint64_t lost = 0;
  std::uint64_t unfinished = 0;  // calls that had not returned: in progress, or cut short by a kill
  bool merged = false;           // it ended, and an entry that stands for several counts what it made
  std::string name;
};

}  // namespace hostprobe::analysis
