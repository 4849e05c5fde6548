// step_time_text.h: where the time of the steps went, as a table.
//
// Room 3.
#pragma once

#include <string>

#include "answer/run.h"

namespace hostprobe::analysis {

// Whole lines; "" where that is not known. `all`: every row.
std::string step_time_text(const RunAnswer& run, bool all);

}  // namespace hostprobe::analysis
