// host_clocks.h: how the clocks of several hosts stand to each other: an offset, a drift, and what both can be wrong by.
//
// Room 3. From moments that two hosts share: a collective of which no rank can end before all have arrived. Its ends lie
// close together, whoever was late: a line through their differences is the estimate. Two things bound its error: half of
// all differences lie in a narrow strip round the line, and no end may lie before any arrival, which holds whatever the
// network does. A clock counts as one line over the whole run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "answer/host_clock.h"

namespace hostprobe::analysis {

// One host in one collective, on its own clock.
struct SharedMoment {
  std::uint32_t host = 0;
  std::uint64_t last_arrival_ns = 0;  // of its ranks
  std::uint64_t first_end_ns = 0;     // of its ranks, as far as any knew it; not before the real end
};

// What one collective says about a pair of hosts. `difference`s are the second host's clock minus the first's.
struct ClockSight {
  double at_ns = 0;  // on the first host's clock
  double ends = 0;
  double least = 0;  // the true difference is not below it
  double most = 0;   // nor above
};

// The second host's clock against the first's. Nothing: too few sights. `slack_ns`: what single readings can be wrong by.
std::optional<HostClock> fit_clock(std::vector<ClockSight> sights, double slack_ns);

class HostClocks {
 public:
  explicit HostClocks(std::uint32_t hosts) : hosts_(hosts) {}
  void add(const std::vector<SharedMoment>& collective);
  // By host; nothing for a host that shares no moments with the reference, host 0, over whatever others.
  std::vector<std::optional<HostClock>> finish(double slack_ns) const;

 private:
  std::uint32_t hosts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<ClockSight>> pairs_;
};

}  // namespace hostprobe::analysis
