// ordered_records.h: the records of one thread by begin time, and where some of them are missing: lost, or only in the counters.
//
// Room 3. A thread finishes calls in another order than it begins them (a synchronise that waits inside, a signal
// handler), so slices are only nearly in time order. Each slice knows its earliest begin; everything that began before
// the earliest of what follows can be handed out, so memory stays at a slice or two, however long the trace is.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "nearly_sorted.h"
#include "trace/thread.h"

namespace hostprobe::analysis {

// Consecutive slices of a thread.
struct SliceRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Calls on_record(const Record&) in time order, or on_record(std::span<const Record>), which is given at least one and returns how many of
// them it has taken, at least one; and where running numbers are missing in between on_lost(count), or
// on_summed(count) for those of which the counters know. Which of several gaps are of which kind nobody knows: what left the
// memory of the process is the oldest, so the first ones are taken for that.
template <typename OnRecord, typename OnLost, typename OnSummed>
class OrderedRecords {
 public:
  OrderedRecords(const Thread& thread, OnRecord on_record, OnLost on_lost, OnSummed on_summed)
      : thread_(thread),
        on_record_(on_record),
        on_lost_(on_lost),
        on_summed_(on_summed),
        summed_left_(thread.summed_only) {}

  void walk() {
    const std::uint64_t missing_seen = walk({0, thread_.slices.size()}, 0);
    if (summed_left_ != 0) on_summed_(summed_left_);
    if (thread_.lost > missing_seen) on_lost_(thread_.lost - missing_seen);
  }

  // Some of its slices, and what is missing between them.
  void walk(const SliceRange& range) {
    if (range.begin < range.end) walk(range, thread_.slices[range.begin].first_sequence);
  }

 private:
  std::uint64_t walk(const SliceRange& range, std::uint64_t expected) {
    find_limits();
    std::uint64_t missing_seen = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const Slice& slice = thread_.slices[i];
      if (slice.first_sequence > expected) missing_seen += lose(slice.first_sequence - expected);
      take(slice, i + 1 < range.end ? limits_[i + 1] : UINT64_MAX);
      if (slice.slots > slice.count) missing_seen += lose(slice.slots - slice.count);
      expected = slice.end_sequence();
    }
    flush(UINT64_MAX);
    return missing_seen;
  }

  // limits_[i]: no record of slice i or later begins before this.
  void find_limits() {
    limits_.assign(thread_.slices.size(), UINT64_MAX);
    std::uint64_t least = UINT64_MAX;
    for (std::size_t i = thread_.slices.size(); i-- > 0;) {
      least = std::min(least, thread_.slices[i].least_begin_ticks);
      limits_[i] = least;
    }
  }

  std::uint64_t lose(std::uint64_t count) {
    flush(UINT64_MAX);
    const std::uint64_t aggregated = std::min(count, summed_left_);
    summed_left_ -= aggregated;
    if (aggregated != 0) on_summed_(aggregated);
    if (aggregated != count) on_lost_(count - aggregated);
    return count - aggregated;
  }

  // Of two that begin at the same tick the outer one comes first.
  static bool is_earlier(const Record& l, const Record& r) {
    return l.begin_ticks != r.begin_ticks ? l.begin_ticks < r.begin_ticks : l.end_ticks > r.end_ticks;
  }

  void take(const Slice& slice, std::uint64_t limit) {
    const auto old = static_cast<std::ptrdiff_t>(pending_.size());
    slice.append_to(pending_);
    const auto from = pending_.begin() + old;
    if (!move_into_order(from, pending_.end(), is_earlier)) sort_stably(from, pending_.end(), is_earlier);
    if (from != pending_.end() && old > 0 && is_earlier(*from, *(from - 1))) merge_from(from);
    flush(limit);
  }

  // Both parts are in order. Not inplace_merge: its buffer is not aligned as a Record has to be (libstdc++ 12). Only what
  // the new slice disturbs is moved, because a call that spans a whole trace keeps all of it pending.
  void merge_from(Records::iterator from) {
    auto to = std::upper_bound(pending_.begin(), from, *from, is_earlier);
    disturbed_.assign(to, from);
    for (auto own = disturbed_.begin(); own != disturbed_.end(); ++to)
      *to = from != pending_.end() && is_earlier(*from, *own) ? *from++ : *own++;
  }

  void flush(std::uint64_t limit) {
    const auto end = std::partition_point(pending_.begin(), pending_.end(),
                                          [limit](const Record& record) { return record.begin_ticks <= limit; });
    for (auto at = pending_.begin(); at != end;) {
      if constexpr (std::invocable<OnRecord&, std::span<const Record>>)
        at += static_cast<std::ptrdiff_t>(on_record_(std::span<const Record>(at, end)));
      else
        on_record_(*at++);
    }
    pending_.erase(pending_.begin(), end);
  }

  const Thread& thread_;
  OnRecord on_record_;
  OnLost on_lost_;
  OnSummed on_summed_;
  std::uint64_t summed_left_;
  std::vector<std::uint64_t> limits_;
  Records pending_;
  Records disturbed_;  // the part of it that stands behind the begin of the new slice
};

}  // namespace hostprobe::analysis
