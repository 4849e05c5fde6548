// sem_waits.h: what stands in front of sem_wait, sem_timedwait and sem_clockwait for the fixes that need to.
//
// Room 2 (probe/). One function for all of them, because a hook has room for one: for `spin`, which polls before it sleeps, and for
// `timer_slack`, which sets what is the thread's own. Nothing stands there when neither is on.
#pragma once

#include <atomic>

namespace hostprobe::probe {

enum class SemUse : unsigned { kSpin = 1, kSlack = 2 };

// Writer thread. False: something else stands there.
bool use_sem_waits(SemUse use, bool on);

}  // namespace hostprobe::probe
