// json_threads.h: the threads of a process, what they wait for, and how the process ended, as JSON.
//
// Room 3.
#pragma once

#include "answer/process.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

Json thread_json(const ThreadAnswer& thread);
Json wait_json(const WaitSite& site);
Json end_json(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
