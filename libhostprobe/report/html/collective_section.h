// collective_section.h: the collectives of a run: who comes last, by how much, and how quickly data moves.
//
// Room 3.
#pragma once

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

void add_collectives(const JsonValue& document, Markup& page);

}  // namespace hostprobe::analysis
