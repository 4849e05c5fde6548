// json.h: the document of `hostprobe report --json`, which scripts read.
//
// Room 3. What was not measured is null, never 0; what does not apply is absent. Keys may be added, never renamed.
#pragma once

#include <string>

#include "report/json_value.h"
#include "report/report_options.h"

namespace hostprobe::analysis {

JsonValue report_document(const RunAnswer& run, const ReportOptions& options = {});
std::string report_json(const RunAnswer& run, const ReportOptions& options = {});

}  // namespace hostprobe::analysis
