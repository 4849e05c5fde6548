// text_report.h: the report for people: which tables of it may be asked for, and printing it as wide as the terminal is.
//
// Room 4.
#pragma once

#include <string>

#include "cli/command.h"
#include "report/report_options.h"

namespace hostprobe::cli {

// TABLE, whose words go into the options.
Option table_option(analysis::ReportOptions& options);

// What tables there are, for --help.
std::string table_help();

void print_report(const analysis::RunAnswer& run, analysis::ReportOptions options);

}  // namespace hostprobe::cli
