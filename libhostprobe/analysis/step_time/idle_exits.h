// idle_exits.h: time that threads which another one woke took to be on a CPU, although CPUs were free.
//
// Room 3.
#pragma once

#include <vector>

#include "answer/step_time.h"
#include "step_time_member.h"

namespace hostprobe::analysis {

// Leaves kIdleStateExit only where no CPU can have been short: a rank that may use a single one, and one that had none for longer besides,
// lose that time as kCpuContention too, as far as the kernel counted its threads as ready to run.
void check_idle_exits(const std::vector<StepTimeMember>& members, StepTime& time);

}  // namespace hostprobe::analysis
