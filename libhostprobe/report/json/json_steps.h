// json_steps.h: the steps of a run as JSON: lengths of all and of each type, and the slowest of them.
//
// Room 3.
#pragma once

#include "answer/process.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

Json steps_json(const StepAnswer& steps, const std::optional<double>& start_up_ms);
Json start_up_json(const StartUpAnswer& start_up);

}  // namespace hostprobe::analysis
