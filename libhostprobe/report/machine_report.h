// machine_report.h: how fast the CPUs ran, and what else the machine did, in both forms of the report.
//
// Room 3.
#pragma once

#include <string>
#include <vector>

#include "answer/process.h"
#include "json_numbers.h"

namespace hostprobe::analysis {

// `frequency` and `machine`; null where they were not measured.
void add_machine_json(const ProcessAnswer& process, Json& json);

// At most a few lines; what is usual is not told.
std::vector<std::string> machine_lines(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
