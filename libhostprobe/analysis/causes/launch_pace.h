// launch_pace.h: how a process launches, beside a finding that its launches come late.
//
// Room 3.
#pragma once

#include "answer/run.h"

namespace hostprobe::analysis {

void add_launch_pace(Finding& finding, const ProcessAnswer& process);

}  // namespace hostprobe::analysis
