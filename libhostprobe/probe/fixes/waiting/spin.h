// spin.h: the fix `spin`: waits on semaphores poll for a moment before they sleep, as long as there are CPUs to spare.
//
// Room 2 (probe/). What is polled, and when: polling.h. Waits on condition variables cannot be tried without giving the mutex back and
// taking it again in another order, so they sleep as ever.
#pragma once

#include "probe/fixes/row/fix.h"

namespace hostprobe::probe {

extern const Fix kSpinFix;

}  // namespace hostprobe::probe
