// step_section.h: the steps of a run over time: how long each was, and on which ranks it was longer than usual; then the worst one.
//
// Room 3.
#pragma once

#include <string>

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

void add_steps(const JsonValue& document, Markup& page);
// The map of one run, `map` as in its document; `id` keeps two on a page apart.
void add_step_map(const JsonValue& map, const std::string& id, Markup& page);

}  // namespace hostprobe::analysis
