// page.h: the page of `hostprobe report --html`: one file for a mail or a browser, made of the JSON document alone.
//
// Room 3.
#pragma once

#include <string>

#include "report/json_value.h"

namespace hostprobe::analysis {

std::string report_page(const JsonValue& document);

}  // namespace hostprobe::analysis
