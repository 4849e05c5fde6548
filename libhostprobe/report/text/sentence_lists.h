// sentence_lists.h: what a report says in sentences, one below the other: findings, losses, and what hostprobe itself did.
//
// Room 3. "": there are none.
#pragma once

#include <string>

#include "report/report_options.h"

namespace hostprobe::analysis {

std::string finding_list(const RunAnswer& run, const ReportOptions& options);
std::string loss_list(const RunAnswer& run, const ReportOptions& options);
std::string action_list(const RunAnswer& run, const ReportOptions& options);

}  // namespace hostprobe::analysis
