// open_waits.h: main threads that have been in one wait for long, put together where they are in the same.
//
// Room 3. A job that hangs is known by them: what never returns leaves no record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "answer/run.h"

namespace hostprobe::analysis {

// Longest first. Of ranks, or in a run without ranks of every process that no other one forked.
std::vector<LongWait> long_waits(const RunAnswer& run);

}  // namespace hostprobe::analysis
