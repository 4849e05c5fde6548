// shared_work.h: what is gained at most where the same work is only shared out differently: among more workers, or over more CPUs.
//
// Room 3. The work stays, and a step cannot be shorter than its CPU time takes on all CPUs that it may have.
#pragma once

#include "answer/run.h"

namespace hostprobe::analysis {

// Of a finding whose fix is such a one. Others, and those of runs that do not say how much work there is, stay as they are.
void bound_by_work(Finding& finding, const RunAnswer& run);

}  // namespace hostprobe::analysis
