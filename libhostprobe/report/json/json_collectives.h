// json_collectives.h: the collectives of a run, and the clocks of hosts that they align, as JSON.
//
// Room 3. A part of report/json.h.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/ranks/collective_join.h"

namespace hostprobe::analysis {

nlohmann::ordered_json collectives_json(const std::vector<CollectiveAnswer>& collectives);
nlohmann::ordered_json clocks_json(const std::map<std::string, HostClock>& clocks);

}  // namespace hostprobe::analysis
