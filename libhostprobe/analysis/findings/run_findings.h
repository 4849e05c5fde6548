// run_findings.h: what costs a run time on the host side, heaviest first.
//
// Room 3. Drawn only from what was measured in this run, by the detectors of causes/ or from where the time of the steps went. A
// cause is named only where a symbol, a stack or a counter proved it; what nothing explains is `unexplained`.
#pragma once

#include <vector>

#include "answer/finding.h"
#include "answer/run.h"

namespace hostprobe::analysis {

// Of the same symptom in several processes, the one that costs most. Empty: nothing stands out.
std::vector<Finding> find_causes(const RunAnswer& run);

WorstWaits worst_waits(const RunAnswer& run);

}  // namespace hostprobe::analysis
