// flame_section.h: flame graphs of the threads that matter: what they ran, by samples, and what they waited in.
//
// Room 3.
#pragma once

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

void add_flames(const JsonValue& document, Markup& page);

}  // namespace hostprobe::analysis
