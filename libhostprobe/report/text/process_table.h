// process_table.h: the processes that are no ranks, a line each.
//
// Room 3.
#pragma once

#include <string>

#include "report/report_options.h"

namespace hostprobe::analysis {

std::string process_table(const RunAnswer& run, const ReportOptions& options);

}  // namespace hostprobe::analysis
