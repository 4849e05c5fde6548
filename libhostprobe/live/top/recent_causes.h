// recent_causes.h: where the time of the last steps went, of each rank: the report's own answer, of its newest steps alone.
//
// Room 3. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "answer/run.h"
#include "live_view.h"

namespace hostprobe::analysis {

struct RankCauses {
  std::optional<int> rank = {};
  std::uint32_t pid = 0;
  std::vector<CausePart> parts = {};  // heaviest first
};

struct RecentCauses {
  std::vector<RankCauses> ranks = {};
  double span_s = 0;         // of the steps that it is of
  std::string unknown = {};  // why there is nothing
  std::string stuck = {};    // in which collective ranks wait for others; "": in none
  std::map<std::uint32_t, std::map<std::uint32_t, std::string>> roles = {};  // by process and thread
};

// Of the newest steps that together take `seconds`; of all where they are fewer.
RecentCauses recent_causes(const RunAnswer& run, double seconds);

// Each to its rank, by process.
void add_causes(const RecentCauses& causes, std::optional<double> age_s, LiveView& view);

}  // namespace hostprobe::analysis
