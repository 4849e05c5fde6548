// clock.h: ticks become nanoseconds here and nowhere else.
//
// Room 3. The reader collects every clock pair of a trace (header, clock blocks, segment) into one TickClock; all
// questions ask it. The result is CLOCK_MONOTONIC of the host that was traced, so that processes of one host share one
// time axis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/segment.h"

namespace hostprobe::analysis {

class TickClock {
 public:
  // Pairs may come in any order and twice. A pair that runs backwards against an earlier one is left out, and so is one
  // of zeros, which means "never read".
  void set_pairs(std::vector<ClockPair> pairs);

  // Two different pairs are needed to know the rate.
  bool known() const { return pairs_.size() >= 2; }
  std::uint64_t first_ticks() const { return pairs_.empty() ? 0 : pairs_.front().ticks; }
  std::uint64_t last_ticks() const { return pairs_.empty() ? 0 : pairs_.back().ticks; }

  // Linear between neighbouring pairs, and outside of them by the rate of the whole trace.
  std::uint64_t monotonic_ns(std::uint64_t ticks) const { return monotonic_ns_of(since_first_ns(ticks)); }
  // Of a moment as TickReader tells it.
  std::uint64_t monotonic_ns_of(double since_first_ns) const;
  double span_ns(std::uint64_t begin_ticks, std::uint64_t end_ticks) const {
    return since_first_ns(end_ticks) - since_first_ns(begin_ticks);
  }
  // A length that has no place in time, such as a cost per call.
  double length_ns(double ticks) const { return ticks * ns_per_tick_; }

  // Worst distance of an inner pair from the line through its neighbours: what the interpolation can be wrong by.
  // Unknown with fewer than three pairs.
  std::optional<double> error_ns() const;

  // CLOCK_REALTIME minus CLOCK_MONOTONIC at the first pair.
  std::int64_t realtime_offset_ns() const { return realtime_offset_ns_; }

 private:
  friend class TickReader;

  // A stretch of time in which ticks pass at one rate.
  struct Stretch {
    std::uint64_t begin_ticks = 0;
    std::uint64_t length_ticks = 0;
    std::uint64_t anchor_ticks = 0;
    double anchor_ns = 0;
    double ns_per_tick = 0;
    double since_first_ns(std::uint64_t ticks) const {
      return anchor_ns + static_cast<double>(static_cast<std::int64_t>(ticks - anchor_ticks)) * ns_per_tick;
    }
  };
  Stretch stretch_of(std::uint64_t ticks) const;
  // Relative to the first pair, because a double holds an uptime of a year only to 4 ns.
  double since_first_ns(std::uint64_t ticks) const {
    return pairs_.empty() ? 0 : stretch_of(ticks).since_first_ns(ticks);
  }
  double on_line_ns(const ClockPair& left, const ClockPair& right, std::uint64_t ticks) const;

  std::vector<ClockPair> pairs_;
  double ns_per_tick_ = 0;
  std::int64_t realtime_offset_ns_ = 0;
};

// The same for many moments, most of which lie near the one before: the stretch is looked up only when it changes.
class TickReader {
 public:
  explicit TickReader(const TickClock& clock) : clock_(clock) {}
  // Nanoseconds since the first clock pair.
  double since_first_ns(std::uint64_t ticks) {
    if (ticks - stretch_.begin_ticks >= stretch_.length_ticks) stretch_ = clock_.stretch_of(ticks);
    return stretch_.since_first_ns(ticks);
  }
  // Another one of the same clock has gone on from here.
  void follow(const TickReader& other) { stretch_ = other.stretch_; }

 private:
  const TickClock& clock_;
  TickClock::Stretch stretch_;
};

// The clocks of this machine, now. Only meaningful beside pairs of the same boot.
ClockPair read_clocks_now();

// The kernel's id of the running boot, "" when it cannot be read.
std::string current_boot_id();

}  // namespace hostprobe::analysis
