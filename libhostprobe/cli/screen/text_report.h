// text_report.h: reports and differences for people: which tables may be asked for, and printing them as wide as the terminal is.
//
// Room 4.
#pragma once

#include <string>

#include "answer/diff.h"
#include "cli/command.h"
#include "report/report_options.h"

namespace hostprobe::cli {

// TABLE, whose words go into the options.
Option table_option(analysis::ReportOptions& options);

// What tables there are, for --help.
std::string table_help();

void print_report(const analysis::RunAnswer& run, analysis::ReportOptions options);
void print_diff(const analysis::RunDiff& changes, const analysis::RunAnswer& a, const analysis::RunAnswer& b, bool all);

}  // namespace hostprobe::cli
