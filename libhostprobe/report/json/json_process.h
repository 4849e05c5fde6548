// json_process.h: one process in the JSON report.
//
// Room 3. What was not measured is null, never 0; what does not apply is absent.
#pragma once

#include "answer/process.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

Json process_json(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
