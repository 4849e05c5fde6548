// record_cursor.cpp: see record_cursor.h.
#include "record_cursor.h"

#include <algorithm>

#include "model/nearly_sorted.h"

namespace hostprobe::tables {
namespace {

// Of two that begin at the same tick the outer one comes first.
bool is_earlier(const Record& l, const Record& r) {
  return l.begin_ticks != r.begin_ticks ? l.begin_ticks < r.begin_ticks : l.end_ticks > r.end_ticks;
}

}  // namespace

RecordCursor::RecordCursor(const analysis::Thread& thread, const WantedHooks& wanted) : wanted_(wanted) {
  // Rows that the table lacks may have any number.
  if (wanted.back()) seen_.fill(~std::uint64_t{0});
  for (std::size_t hook = 0; hook + 1 < wanted.size(); ++hook)
    if (wanted[hook]) seen_[hook >> 6 & 3] |= std::uint64_t{1} << (hook & 63);
  for (const analysis::Slice& slice : thread.slices)
    if (is_wanted(slice)) slices_.push_back(&slice);
  limits_.assign(slices_.size() + 1, UINT64_MAX);
  for (std::size_t i = slices_.size(); i-- > 0;) limits_[i] = std::min(limits_[i + 1], slices_[i]->least_begin_ticks);
}

bool RecordCursor::is_wanted(const analysis::Slice& slice) const {
  for (std::size_t i = 0; i < seen_.size(); ++i)
    if ((slice.hooks_seen[i] & seen_[i]) != 0) return true;
  return false;
}

bool RecordCursor::fill() {
  if (slice_ == slices_.size()) return false;
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  take(*slices_[slice_++]);
  const std::uint64_t limit = limits_[slice_];
  const auto after = [](std::uint64_t ticks, const Record& record) { return ticks < record.begin_ticks; };
  ready_ =
      static_cast<std::size_t>(std::upper_bound(pending_.begin(), pending_.end(), limit, after) - pending_.begin());
  return true;
}

// Only what the new slice disturbs is sorted, because a call that spans a whole trace keeps all of it pending. Not inplace_merge: its
// buffer is not aligned as a Record has to be (libstdc++ 12).
void RecordCursor::take(const analysis::Slice& slice) {
  const auto old = static_cast<std::ptrdiff_t>(pending_.size());
  slice.append_to(pending_);
  auto from = pending_.begin() + old;
  pending_.erase(std::remove_if(from, pending_.end(), [this](const Record& record) { return !is_wanted(record); }),
                 pending_.end());
  from = pending_.begin() + old;
  if (!std::is_sorted(from, pending_.end(), is_earlier)) analysis::sort_stably(from, pending_.end(), is_earlier);
  if (from != pending_.end() && old > 0 && is_earlier(*from, *(from - 1)))
    analysis::sort_stably(std::upper_bound(pending_.begin(), from, *from, is_earlier), pending_.end(), is_earlier);
}

}  // namespace hostprobe::tables
