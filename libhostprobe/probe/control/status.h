// status.h: what this process's hostprobe does at the moment, for `hostprobe ctl PID status` and `top`.
//
// Room 2 (probe/). The writer thread. Lines of "word rest", for live/ and cli/ctl.cpp.
#pragma once

#include "probe/control/answer.h"

namespace hostprobe::probe {

void tell_status(Answer& answer);

}  // namespace hostprobe::probe
