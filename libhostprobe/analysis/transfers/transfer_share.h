// transfer_share.h: a part of the time of all transfers is somebody's fault.
//
// Room 3.
#pragma once

#include "answer/step_time.h"

namespace hostprobe::analysis {

// `named`: its cause, member and site. It gets that part of what transfers have, which lose it.
void take_from_transfers(double part, LostTime named, StepTime& time);
// What transfers have, of the steps.
double exposed_transfers_ns(const StepTime& time);

}  // namespace hostprobe::analysis
