// rank_section.h: what is different about a rank: each measure of the ranks side by side.
//
// Room 3. Only numbers of the document; what of them is a cause, findings say.
#pragma once

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

void add_ranks(const JsonValue& document, Markup& page);

}  // namespace hostprobe::analysis
