// rank_table.h: one line for each rank, its incarnations together, and which ranks are worth a section of their own where
// there are many.
//
// Room 3.
#pragma once

#include <string>
#include <vector>

#include "answer/finding.h"
#include "report/report_options.h"

namespace hostprobe::analysis {

// Of many ranks those that findings name come first, then those that wait least: the others wait for them.
std::string rank_table(const RunAnswer& run, const ReportOptions& options);

// The slowest: the one that a finding names first, or else the one whose main thread waits least, so that the others wait
// for it; and the median of all by that.
std::vector<const ProcessAnswer*> chosen_ranks(const RunAnswer& run, const std::vector<Finding>& findings);

}  // namespace hostprobe::analysis
