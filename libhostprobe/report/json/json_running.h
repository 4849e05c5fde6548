// json_running.h: what the CPU time of a thread went into, in the JSON report.
//
// Room 3.
#pragma once

#include "answer/process.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

// Flame graphs: of each node its parent, its frame, and its time in ms.
Json stacks_json(const std::vector<StackTree>& trees);

// Adds `running`, `running_code` and `running_samples` where the thread was sampled.
void add_running(const ProcessAnswer& process, const ThreadAnswer& thread, Json& json);

}  // namespace hostprobe::analysis
