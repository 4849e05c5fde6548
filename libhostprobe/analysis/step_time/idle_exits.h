// idle_exits.h: time that threads which another one woke took to be on a CPU, although CPUs were free.
//
// Room 3.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "answer/step_time.h"
#include "step_time_member.h"

namespace hostprobe::analysis {

// Leaves kIdleStateExit only where no CPU can have been short: a rank that may use a single one, and one that had none for longer besides,
// lose that time as kCpuContention too, as far as the kernel counted its threads as ready to run. Returned of each such rank: how much
// of that time became kCpuContention, as a share.
std::map<std::uint32_t, double> check_idle_exits(const std::vector<StepTimeMember>& members, StepTime& time);

}  // namespace hostprobe::analysis
