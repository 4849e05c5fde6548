// fixes.h: which fixes are on: those of HOSTPROBE_FIX, and what `hostprobe ctl PID fix on|off NAME` said since.
//
// Room 2 (probe/). All are off by default. The writer thread looks after them (tend_fixes, ask_for_fix in record/doors.h).
#pragma once

namespace hostprobe::probe {

// As recording starts. Names that are none are said, once.
void begin_fixes();

}  // namespace hostprobe::probe
