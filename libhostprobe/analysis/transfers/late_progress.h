// late_progress.h: transfers that take long because one rank's NCCL progress threads look after them late.
//
// Room 3.
#pragma once

#include <vector>

#include "answer/process.h"
#include "answer/step_time.h"

namespace hostprobe::analysis {

// Gives kProxyDelay its part of kTransfer: where all progress threads of one rank leave longer between two polls (medians) than
// any of the others' do, what is beyond the others' median. Gives what part of a transfer is left; 1: none of them is late.
double name_late_progress(const std::vector<const ProcessAnswer*>& members, StepTime& time);

}  // namespace hostprobe::analysis
