// lane_section.h: the worst step as lanes, one for each rank's causes, each thread and each GPU, with arrows from who let whom go on.
//
// Room 3.
#pragma once

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

void add_worst_step(const JsonValue& document, Markup& page);

}  // namespace hostprobe::analysis
