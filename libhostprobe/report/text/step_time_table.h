// step_time_table.h: where the time of the steps went, as a table.
//
// Room 3.
#pragma once

#include <string>

#include "report/report_options.h"

namespace hostprobe::analysis {

// "" where that is not known.
std::string step_time_table(const RunAnswer& run, const ReportOptions& options);

}  // namespace hostprobe::analysis
