// host_alignment.h: the clocks of all hosts of a run on one axis, that of the first host, by the collectives they share.
//
// Room 3. timeline/host_clocks.h has the mathematics.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collective_ends.h"
#include "model/host_clocks.h"

namespace hostprobe::analysis {

struct ProcessEnds {
  std::string host;
  std::vector<CollectiveEnd> ends;
};

// Hosts that cannot be aligned are absent. The reference is the host of the first process; its clock is exact.
// `slack_ns`: what single readings of a clock can be wrong by.
std::map<std::string, HostClock> align_hosts(const std::vector<ProcessEnds>& processes, double slack_ns);

}  // namespace hostprobe::analysis
