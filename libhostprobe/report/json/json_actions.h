// json_actions.h: what hostprobe itself did in a process, and what the fix `auto` tried in a run, as JSON.
//
// Room 3.
#pragma once

#include "answer/run.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

Json action_json(const ActionAnswer& event);
Json trials_json(const RunAnswer& run);

}  // namespace hostprobe::analysis
