// cause_title.h: what a page calls a cause: as the first screen of the text report does.
//
// Room 3.
#pragma once

#include <string>

#include "report/json_value.h"

namespace hostprobe::analysis {

// Of an id. A job that uses no GPU is bound by none: that is its own work.
std::string cause_title_in(const JsonValue& document, const std::string& cause);

}  // namespace hostprobe::analysis
