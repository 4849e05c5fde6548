// finding_cards.h: the findings of a run as cards, and what was looked for and not found.
//
// Room 3.
#pragma once

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

void add_findings(const JsonValue& document, Markup& page);

}  // namespace hostprobe::analysis
