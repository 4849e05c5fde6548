// cost_table.h: what hostprobe itself cost each process, by source.
//
// Room 3. A line a process; the dearest first.
#pragma once

#include <string>

#include "report/report_options.h"

namespace hostprobe::analysis {

std::string cost_table(const RunAnswer& run, const ReportOptions& options);

}  // namespace hostprobe::analysis
