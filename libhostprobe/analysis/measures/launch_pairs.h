// launch_pairs.h: pairs of consecutive launches of a thread, and what it costs when the thread is switched out between them.
//
// Room 3. Group A: no context switch of the thread lies between the two; B: at least one. Without records of switches no
// pair is of either group, and what depends on them is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "answer/histogram.h"
#include "answer/launch.h"

namespace hostprobe::analysis {

// Of the gap between two launches; nothing is known of it where no switches are recorded.
struct GapSwitches {
  std::uint32_t count = 0;
  double no_cpu_ns = 0;
};

class LaunchPairs {
 public:
  void add(double gap_ns, const std::optional<GapSwitches>& switches) {
    all_.add(gap_ns);
    if (switches) add_switches(gap_ns, *switches);
  }
  // Of several pairs; those with known switches are added by add_switches() too.
  void add(std::span<const double> gaps_ns) { all_.add(gaps_ns); }
  void add_switches(double gap_ns, const GapSwitches& switches) {
    switches_ += switches.count;
    no_cpu_ns_ += switches.no_cpu_ns;
    (switches.count == 0 ? apart_ : switched_).add(gap_ns);
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
  double no_cpu_ns_ = 0;
};

}  // namespace hostprobe::analysis
