// text.h: the report for people. Its first screen answers "what do I do now": losses first, then the headline,
// then the tables it was drawn from.
//
// Room 3. At most 100 columns wide.
#pragma once

#include <string>

#include "report/report_options.h"

namespace hostprobe::analysis {

std::string report_text(const RunAnswer& run, const ReportOptions& options);

}  // namespace hostprobe::analysis
