// json_step_map.h: how long each step took on each rank, as far as a person can see it at once: of long runs some steps in a column.
//
// Room 3.
#pragma once

#include "answer/run.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

// Null where no step has a place in time.
Json step_map_json(const RunAnswer& run);

}  // namespace hostprobe::analysis
