// gpu_replay.h: when ops ran on the GPUs of processes that share an axis: learned durations, replayed between what is known.
//
// Room 3. An op begins when its stream has come so far, the GPU has learned of it, what it waits for elsewhere has ended, and of a
// collective all ranks are there; it ends so much later as its kind lasts. Timed ends are taken as they are. Where a wait of the host's
// returned, all before it had ended: where the replay disagrees, what ran since the last thing known was shorter, or as far as
// its error allows, longer.
#pragma once

#include <vector>

#include "gpu_work.h"
#include "op_times.h"

namespace hostprobe::analysis {

// Of each process. All must be on one axis.
std::vector<OpTimes> replay_gpus(const std::vector<const GpuWork*>& works);

}  // namespace hostprobe::analysis
