// headline.h: at most three plain sentences that say what to do now.
//
// Room 3. Drawn only from what was measured in this run; the thresholds stand in headline.cpp. When nothing is wrong it
// says so.
#pragma once

#include <string>
#include <vector>

#include "analysis/questions/run_answer.h"

namespace hostprobe::analysis {

std::vector<std::string> headline(const RunAnswer& run);

}  // namespace hostprobe::analysis
