// actions.h: what hostprobe itself did in a process and why, as a person and a script may want to know it.
//
// Room 3. From the rows in the trace (format/file.h); printed by report/text.cpp and report/json.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "answer/action.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

// By time. What a newer hostprobe may write is kept, with its numbers.
std::vector<ActionAnswer> actions_of(const Trace& trace, std::uint64_t start_monotonic_ns);

}  // namespace hostprobe::analysis
