// record_cursor.h: the records of one thread that a table is about, by begin time, a block at a time.
//
// Room 3. As timeline/ordered_records.h, but asked instead of calling back, because whoever reads a table may stop anywhere. Blocks
// without a wanted record are not unpacked. What is held is what began after the earliest of the blocks that follow.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace hostprobe::tables {

// By Record::hook, modulo nothing: one for each row of the hook table plus 1, and the last for rows that the table lacks.
using WantedHooks = std::vector<bool>;

class RecordCursor {
 public:
  // Both must outlive it.
  RecordCursor(const analysis::Thread& thread, const WantedHooks& wanted);

  // Null: there are no more. Throws TraceError where the file changed since it was read.
  const Record* next() {
    while (at_ == ready_)
      if (!fill()) return nullptr;
    return &pending_[at_++];
  }

 private:
  bool fill();
  void take(const analysis::Slice& slice);
  bool is_wanted(const analysis::Slice& slice) const;
  bool is_wanted(const Record& record) const {
    return wanted_[record.hook < wanted_.size() ? record.hook : wanted_.size() - 1];
  }

  const WantedHooks& wanted_;
  std::array<std::uint64_t, 4> seen_{};         // of the wanted ones, as Slice::hooks_seen
  std::vector<const analysis::Slice*> slices_;  // those that may hold some
  std::vector<std::uint64_t> limits_;           // no record of slice i or later begins before limits_[i]
  std::size_t slice_ = 0;
  analysis::Records pending_;
  std::size_t at_ = 0, ready_ = 0;  // handed out; those before may be
};

}  // namespace hostprobe::tables
