// launch_pairs.h: pairs of consecutive launches of a thread, and what it costs when the thread is switched out between them.
//
// Room 3. Group A: no context switch of the thread lies between the two; B: at least one. Without records of switches no
// pair is of either group, and what depends on them is not known.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/timeline/histogram.h"

namespace hostprobe::analysis {

struct LaunchPairAnswer {
  std::uint64_t count = 0;
  std::optional<double> p95_ns, p99_ns;  // of the gap
  // What follows is known where switches are.
  std::optional<std::uint64_t> switched;         // pairs in B
  std::optional<double> penalty_ns;              // median gap of B over that of A
  std::optional<double> impact_pct;              // what B costs, of the run's time
  std::optional<double> tail95_pct, tail99_pct;  // of the pairs above P95 and P99, those in B
  std::optional<double> switches_per_1000;       // launches
};

class LaunchPairs {
 public:
  // `switches`: between the two; nothing: nobody knows.
  void add(double gap_ns, std::optional<std::uint32_t> switches) {
    all_.add(gap_ns);
    if (!switches) return;
    switches_ += *switches;
    (*switches == 0 ? apart_ : switched_).add(gap_ns);
  }
  // Of pairs that are only in counters.
  void add(const Histogram& gaps) { all_.add(gaps); }
  void merge(const LaunchPairs& other);
  LaunchPairAnswer finish(double run_ns, std::uint64_t launches) const;
  const Histogram& gaps() const { return all_; }

 private:
  std::optional<double> tail_pct(double limit_ns) const;

  Histogram all_;
  Histogram apart_;     // A
  Histogram switched_;  // B
  std::uint64_t switches_ = 0;
};

}  // namespace hostprobe::analysis
