// run_waits.h: who ended the waits of a run's processes, where that is not known of one process alone.
//
// Room 3.
#pragma once

#include <vector>

#include "opened_traces.h"

namespace hostprobe::analysis {

// Waits that the probe knows no waker of. A kernel's trace whose host is not known is taken for one of the only host.
void answer_kernel_wakers(const std::vector<Opened>& opened, ProcessWorks& works, RunAnswer& run);

// Chains that end in a wait for another rank go on there.
void follow_over_ranks(const std::vector<Opened>& opened, ProcessWorks& works, RunAnswer& run, unsigned cores);

}  // namespace hostprobe::analysis
