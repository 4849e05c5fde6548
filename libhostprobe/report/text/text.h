// text.h: the report for people: the first screen, which answers "what do I do now", and the tables it was drawn from for those who ask.
//
// Room 3. As wide as the options say.
#pragma once

#include <string>

#include "report/report_options.h"

namespace hostprobe::analysis {

// The tables that the options name; else the first screen, and with `all`, or of one rank, everything behind it.
std::string report_text(const RunAnswer& run, const ReportOptions& options);

}  // namespace hostprobe::analysis
