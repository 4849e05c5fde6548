// signal_frame.h: whether the calling thread runs in a signal handler, as its stack says.
//
// Room 2 (probe/). Cold; async-signal-safe. A
// handler cannot be known by what it was entered through: it may be left by a jump, an exception, a context switch.
#pragma once

namespace hostprobe::probe {

// `blocked`: the thread's signal mask, a bit per signal. Wrong only towards true: on a signal stack that was jumped off
// by hand, or for a handler that may interrupt itself.
bool in_signal_handler(unsigned long blocked);
// The same with the mask as it is now.
bool in_signal_handler();

}  // namespace hostprobe::probe
