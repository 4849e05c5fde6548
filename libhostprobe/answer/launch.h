// launch.h: GPU launches of a process: how many, how long a call takes, and the gaps between them.
//
// The waist (answer/). analysis/measures/launches.h and launch_pairs.h fill it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "histogram.h"
#include "role.h"

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
  // In the gaps the thread was preempted, or woken and not yet running: what the switches cost, whatever the medians say.
  std::optional<double> no_cpu_ms, no_cpu_pct;  // of the run's time
};

struct LaunchAnswer {
  bool hooked = false;  // the launch functions of a driver were found: 0 launches is then a measured 0
  // That ran: of launches outside captures, and of the graphs that were launched. Nothing: what a graph holds was not seen.
  std::optional<std::uint64_t> kernels;
  std::uint64_t captured = 0;  // launches that a stream capture took
  std::map<std::string, std::uint64_t> by_function;
  Histogram call;
  Histogram gap;
  LaunchPairAnswer pairs;
  std::uint64_t gaps_unknown = 0;
  Role role = Role::kOther;  // of the thread that launches most
  double span_ms = 0;        // of that thread: from its first launch to the end of its last

  // Calls, those that a capture took too.
  std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const auto& [name, calls] : by_function) all += calls;
    return all;
  }
};

// Which share of launches found their stream empty, by samples of them, with the 95 % interval.
struct QueueAnswer {
  std::uint64_t samples = 0;
  std::uint64_t empty = 0;
  double share_pct = 0;
  double low_pct = 0;
  double high_pct = 0;
};

}  // namespace hostprobe::analysis
