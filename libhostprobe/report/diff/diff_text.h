// diff_text.h: what changed between two runs, as a page that a person reads.
//
// Room 3. A pure function of the comparison. What lies within noise is shown in its table, and never called a change.
#pragma once

#include <string>

#include "answer/diff.h"
#include "answer/run.h"

namespace hostprobe::analysis {

std::string diff_text(const RunDiff& diff, const RunAnswer& a, const RunAnswer& b);

}  // namespace hostprobe::analysis
