// fixes.h: which fixes are on: those of HOSTPROBE_FIX, and what `hostprobe ctl PID fix on|off NAME` said since.
//
// Room 2 (probe/). All are off by default. The writer thread looks after them (tend_fixes, ask_for_fix in record/doors.h).
#pragma once

namespace hostprobe::probe {

// As recording starts. Names that are none are said, once.
void begin_fixes();

// In a forked child, which is none of the threads that a fix was for.
void leave_fixes_to_child();
// The calling thread is about to become another program, or its vfork child is. errno is kept.
void leave_fixes_before_exec();
// As the trace ends: nobody looks after them any longer, so what they hold back goes now, and from now on nothing is held back.
void leave_fixes();

}  // namespace hostprobe::probe
