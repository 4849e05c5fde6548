// diff_text.h: what changed between two runs, as a page that a person reads.
//
// Room 3. A pure function of the comparison. What lies within noise is never called a change.
#pragma once

#include <string>

#include "answer/diff.h"
#include "report/report_options.h"

namespace hostprobe::analysis {

// `all`: with every row of its tables, not only those that changed.
std::string diff_text(const RunDiff& diff, const RunAnswer& a, const RunAnswer& b, const ReportOptions& options);

}  // namespace hostprobe::analysis
