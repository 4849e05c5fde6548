// json.h: the document of `hostprobe report --json`, which scripts read.
//
// Room 3. What was not measured is null, never 0; what does not apply is absent. Keys may be added, never renamed.
#pragma once

#include <string>

#include "report/report_options.h"

namespace hostprobe::analysis {

std::string report_json(const RunAnswer& run, const ReportOptions& options = {});

}  // namespace hostprobe::analysis
