// transfer_causes.h: why transfers take as long as they do: threads that look after them late or have no CPU, links that are slow.
//
// Room 3.
#pragma once

#include <vector>

#include "gains.h"
#include "step_time_member.h"

namespace hostprobe::analysis {

// Gives each cause its part of kTransfer, and says what is left of transfers without it.
GainFactors name_transfer_causes(const JobGraph& job, const std::vector<StepTimeMember>& members, StepTime& time);

}  // namespace hostprobe::analysis
