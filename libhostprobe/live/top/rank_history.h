// rank_history.h: the readings of one process over the last ten seconds become a row: rates are differences of two readings.
//
// Room 3. Pure: it neither looks at the process nor at the clock.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "live_view.h"
#include "segment_reading.h"

namespace hostprobe::analysis {

inline constexpr std::uint64_t kRecentNs = 10'000'000'000;

// The name of a hook by its number in a record; "": not known.
using HookName = std::function<std::string(std::uint16_t hook)>;

class RankHistory {
 public:
  explicit RankHistory(const FileHeader& header) : header_(header) {}

  void add(SegmentReading reading, const FileHeader& header);
  bool is_empty() const { return readings_.empty(); }
  // Everything but what only the operating system or the analysis knows.
  LiveRank rank(const HookName& hook_name) const;

  // Of the newest reading.
  std::optional<LiveAuto> fix_auto() const;

  // Steps that ended later than that.
  std::vector<double> lengths_since(std::uint64_t monotonic_ns) const;

 private:
  void add_rates(LiveRank& rank) const;
  void add_threads(LiveRank& rank, const HookName& hook_name) const;
  LiveThread thread(const ThreadEntry& now, const HookName& hook_name) const;
  double ns_per_tick() const;
  std::optional<double> own_ns(const SegmentReading& reading) const;

  FileHeader header_;
  std::deque<SegmentReading> readings_;
};

// Nothing where no step is among them.
std::optional<LiveSteps> live_steps(const std::vector<StepPlace>& steps, std::uint64_t count, std::uint64_t now_ns);

// Nothing where the fix is off.
std::optional<LiveAuto> live_auto(const ShownTrial& shown);

double median_of(std::vector<double> values);

}  // namespace hostprobe::analysis
