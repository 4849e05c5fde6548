// json_step_map.h: how long each step took on each rank, as far as a person can see it at once: of long runs some steps in a column.
//
// Room 3.
#pragma once

#include "answer/run.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

// Null where no step has a place in time.
Json step_map_json(const RunAnswer& run);

// What each step lost to which cause, of the mean rank. Null where that is known of all steps together only.
Json causes_by_step_json(const StepTime& time);

}  // namespace hostprobe::analysis
