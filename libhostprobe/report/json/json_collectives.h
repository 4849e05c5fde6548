// json_collectives.h: the collectives of a run, and the clocks of hosts that they align, as JSON.
//
// Room 3. A part of report/json.h.
#pragma once

#include "answer/collective.h"
#include "answer/host_clock.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

JsonValue collectives_json(const std::vector<CollectiveAnswer>& collectives);
JsonValue clocks_json(const std::map<std::string, HostClock>& clocks);

}  // namespace hostprobe::analysis
