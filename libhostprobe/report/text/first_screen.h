// first_screen.h: what a reader sees first, on one screen of 24 lines: what is wrong, where, what it costs, what to do, what that gains
// and how sure it is; what was looked for and not found; how much was seen; and what to type next.
//
// Room 3.
#pragma once

#include <string>

#include "report/report_options.h"

namespace hostprobe::analysis {

inline constexpr std::size_t kScreenLines = 23;  // one is left for the prompt

std::string first_screen(const RunAnswer& run, const ReportOptions& options);

}  // namespace hostprobe::analysis
