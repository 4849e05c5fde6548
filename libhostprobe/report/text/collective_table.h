// collective_table.h: the collectives of a run, all ranks together, in the text report.
//
// Room 3.
#pragma once

#include <string>

#include "report/report_options.h"

namespace hostprobe::analysis {

// Not `all`: those that take most time. "": there are none.
std::string collective_table(const RunAnswer& run, const ReportOptions& options);

}  // namespace hostprobe::analysis
