// step_findings.h: what costs the steps time, from where their time went.
//
// Room 3. One finding for each cause: of the rank where it sits, or of the job where it sits on all alike.
#pragma once

#include <vector>

#include "answer/finding.h"
#include "answer/run.h"

namespace hostprobe::analysis {

// Heaviest first. Empty: nothing stands out, or it is not known where the time went.
std::vector<Finding> find_in_steps(const RunAnswer& run);

}  // namespace hostprobe::analysis
