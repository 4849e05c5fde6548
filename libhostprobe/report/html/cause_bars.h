// cause_bars.h: where the time of the steps went: a bar of causes for the job and for each rank on which they sit.
//
// Room 3.
#pragma once

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

void add_cause_bars(const JsonValue& document, Markup& page);

}  // namespace hostprobe::analysis
