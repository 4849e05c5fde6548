// gpu_replay.h: when ops ran on the GPUs of processes that share an axis: learned durations, replayed between what is known.
//
// Room 3. An op begins when its stream has come so far, the GPU has learned of it, what it waits for elsewhere has ended, and of a
// collective all ranks are there; it ends so much later as its kind lasts. Timed ends are taken as they are. Where a wait of the host's
// returned, all before it had ended: where the replay disagrees, what ran since the last thing known was shorter, or as far as
// its error allows, longer.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_durations.h"
#include "gpu_work.h"

namespace hostprobe::analysis {

struct OpTime {
  double begin_ns = 0, end_ns = 0;
  float begin_error_ns = 0, end_error_ns = 0;
  std::uint32_t bound_by = kNoOp;  // the op whose end let it begin; kNoOp: its launch, or another rank
  bool guessed = false;            // its duration is not known, and nothing else tells its end
};

using OpTimes = std::vector<OpTime>;  // by number in GpuWork::ops

// Of each process. All must be on one axis.
std::vector<OpTimes> replay_gpus(const std::vector<const GpuWork*>& works);

}  // namespace hostprobe::analysis
