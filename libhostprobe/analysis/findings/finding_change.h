// finding_change.h: which findings appeared, went, grew or shrank from one run to another.
//
// Room 3. What was too small to be a finding in one run is measured there all the same, as far as it can be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/diff.h"
#include "answer/run.h"
#include "step_change.h"

namespace hostprobe::analysis {

// What changed first.
std::vector<FindingChange> compare_findings(const RunAnswer& a, const RunAnswer& b, const StepChange& steps);

}  // namespace hostprobe::analysis
