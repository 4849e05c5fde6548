// json_steps.h: the steps of a run as JSON: lengths of all and of each type, the slowest of them, and where their time went.
//
// Room 3.
#pragma once

#include "answer/run.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

Json steps_json(const RunAnswer& run);
Json start_up_json(const StartUpAnswer& start_up);

// Where their time went: null where that is not known. The shares sum to 100.
Json step_shares_json(const RunAnswer& run);
Json step_time_json(const RunAnswer& run);

}  // namespace hostprobe::analysis
