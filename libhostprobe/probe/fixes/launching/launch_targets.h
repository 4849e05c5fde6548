// launch_targets.h: what the driver's launching functions are while launches are batched.
//
// Room 2 (probe/). The functions run on the program's threads, in place of the driver's.
#pragma once

#include "probe/fixes/launching/launch_queue.h"

namespace hostprobe::probe {

// False: there is no memory.
bool prepare_launch_queue();
// nullptr: there is none in this process.
LaunchQueue* launch_queue();
// What waits is submitted, and from now on every launch goes to the driver at once.
void leave_launch_queue();
// The calling thread is putting a launch into the queue at the moment.
bool is_putting_a_launch();
// Returns once the driver has all that lies before this position.
void await_submitted(const LaunchQueue& queue, std::uint64_t position);

// False: another fix stands in front of one of them; then none is replaced.
bool replace_launch_targets();
void restore_launch_targets();

}  // namespace hostprobe::probe
