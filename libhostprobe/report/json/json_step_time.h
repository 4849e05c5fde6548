// json_step_time.h: where the time of the steps went, as JSON.
//
// Room 3.
#pragma once

#include "answer/run.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

// null where that is not known. The shares sum to 100.
Json step_shares_json(const RunAnswer& run);
Json step_time_json(const RunAnswer& run);

}  // namespace hostprobe::analysis
