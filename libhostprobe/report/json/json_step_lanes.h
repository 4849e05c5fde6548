// json_step_lanes.h: the worst step as lanes of threads and GPUs, for pages to draw.
//
// Room 3.
#pragma once

#include "answer/run.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

// Null where no step has a place in time, or it is not known where its time went.
Json step_lanes_json(const RunAnswer& run);

}  // namespace hostprobe::analysis
