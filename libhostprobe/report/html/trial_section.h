// trial_section.h: the fixes that were tried while the job ran: what steps took without and with each.
//
// Room 3.
#pragma once

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

void add_trials(const JsonValue& document, Markup& page);

}  // namespace hostprobe::analysis
