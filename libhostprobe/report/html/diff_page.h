// diff_page.h: the page of `hostprobe diff --html`: what changed from one run to another, in the form of a report's page.
//
// Room 3.
#pragma once

#include <string>

#include "report/json_value.h"

namespace hostprobe::analysis {

std::string diff_page(const JsonValue& document);

}  // namespace hostprobe::analysis
