// batch_launch.h: kernel launches return once they are copied; a thread of ours gives them to the driver, in the same order.
//
// Room 2 (probe/). docs/decisions/0021-batch-launch.md says what is held back and what never is.
#pragma once

#include "probe/fixes/row/fix.h"

namespace hostprobe::probe {

extern const Fix kBatchLaunchFix;

}  // namespace hostprobe::probe
