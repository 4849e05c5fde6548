// head_section.h: what a page begins with: what is wrong, how much was seen, what is missing.
//
// Room 3.
#pragma once

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

void add_head(const JsonValue& document, Markup& page);

}  // namespace hostprobe::analysis
