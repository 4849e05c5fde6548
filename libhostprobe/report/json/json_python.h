// json_python.h: what Python's collector and its interpreter lock cost, in JSON.
//
// Room 3.
#pragma once

#include "answer/process.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

// Null: the process told nothing.
Json gc_json(const ProcessAnswer& process);
// Null: the thread never waited for the lock.
Json gil_json(const ProcessAnswer& process, const ThreadAnswer& thread);

}  // namespace hostprobe::analysis
