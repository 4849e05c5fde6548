// step_table.h: the steps of a run by their types, and the slowest ones.
//
// Room 3.
#pragma once

#include <string>

#include "report/report_options.h"

namespace hostprobe::analysis {

std::string step_table(const RunAnswer& run, const ReportOptions& options);

}  // namespace hostprobe::analysis
