// kernel_report.h: what the kernel told of neighbours and interrupts, as text and as JSON; see questions/neighbours.h.
//
// Room 3.
#pragma once

#include <string>

#include "answer/run.h"
#include "json_numbers.h"
#include "report_options.h"

namespace hostprobe::analysis {

// "": the kernel was not recorded.
std::string kernel_table(const RunAnswer& run, const ReportOptions& options);

// Puts into a process's object what the kernel told of it; nothing where it told nothing.
void add_kernel_json(const KernelShare* share, Json& process);
// And into the run's: its files, and neighbours of all processes together.
void add_kernel_json(const RunAnswer& run, Json& document);

}  // namespace hostprobe::analysis
