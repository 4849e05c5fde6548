// timer_slack.h: the fix `timer_slack`: waits with a time limit end when it is reached, and not up to 50 us later.
//
// Room 2 (probe/). The kernel lets timers of a thread be late by its slack, so that several are served at once. HOSTPROBE_TIMER_SLACK_NS
// says how late. Nobody without privileges may set another thread's, so a thread does it before such a wait (thread_slack.h), by what
// stands in front of the function.
#pragma once

#include "probe/fixes/row/fix.h"

namespace hostprobe::probe {

extern const Fix kTimerSlackFix;

}  // namespace hostprobe::probe
