// lost_time.h: when calls of a thread are missing from its records.
//
// Room 3. Lost, or left out to keep to the budget: what happened meanwhile cannot be told from records.
#pragma once

#include <vector>

#include "model/timeline.h"
#include "model/window.h"

namespace hostprobe::analysis {

// In order, from the end of the last call before to the begin of the first one after. Where none comes after, without an end.
std::vector<Window> lost_time(const Timeline& timeline, const Track& track);

// Sorted; those that overlap are one.
std::vector<Window> joined(std::vector<Window> windows);

}  // namespace hostprobe::analysis
