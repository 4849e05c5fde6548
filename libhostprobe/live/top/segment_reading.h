// segment_reading.h: one look into the shared memory that a process records into, without asking the process for anything.
//
// Room 3. Counters of its threads, its last steps and what each thread waits in; records are not looked at. A few
// kilobytes are copied, so it may be done each second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/file.h"

namespace hostprobe::analysis {

struct SegmentReading {
  std::uint64_t at_ns = 0;  // CLOCK_MONOTONIC, when it was read
  ClockPair clock{};        // when the process refreshed it last
  std::uint64_t process_cpu_ns = 0, writer_cpu_ns = 0;
  std::uint64_t lost = 0;  // also of threads that have no entry
  std::uint64_t throttled_ns = 0;
  ShownTrial trial{};
  std::uint64_t step_count = 0;
  std::vector<StepPlace> steps;                                            // the last ones, the newest behind
  std::vector<ThreadEntry> threads;                                        // those that live
  std::uint64_t records = 0, quiet_calls = 0, skipped = 0, own_ticks = 0;  // of all threads that have an entry
};

// Steps that cannot have been overwritten while they were copied: `ring` was copied between two readings of the count.
std::vector<StepPlace> whole_steps(const StepRing& ring, std::uint32_t count_before, std::uint32_t count_after);

// What the fix `auto` does; all zero where it was written meanwhile, again and again.
ShownTrial whole_trial(const ShownTrial& shown);

class SegmentReader {
 public:
  // Nothing is attached where the segment is gone, another's, or of another version.
  explicit SegmentReader(const FileHeader& header);
  ~SegmentReader();
  SegmentReader(const SegmentReader&) = delete;
  SegmentReader& operator=(const SegmentReader&) = delete;

  std::optional<SegmentReading> read() const;

 private:
  void copy_threads(SegmentReading& reading) const;

  const SegmentHeader* header_ = nullptr;
};

// CLOCK_MONOTONIC
std::uint64_t now_monotonic_ns();

}  // namespace hostprobe::analysis
