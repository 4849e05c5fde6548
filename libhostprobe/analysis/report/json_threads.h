// json_threads.h: the threads of a process and what they wait for, as JSON.
//
// Room 3.
#pragma once

#include "analysis/questions/process.h"
#include "json_values.h"

namespace hostprobe::analysis {

Json thread_json(const ThreadAnswer& thread);
Json wait_json(const WaitSite& site);

}  // namespace hostprobe::analysis
