// gpu_other_ranks.h: how long ops last that a process never timed, as other ranks of its host tell.
//
// Room 3. Ranks of a job run the same kernels on GPUs of the same kind, and what runs once a step is timed by chance only.
#pragma once

#include <vector>

#include "gpu_durations.h"
#include "gpu_work.h"

namespace hostprobe::analysis {

struct KnownDurations {
  const GpuWork* work = nullptr;
  GpuDurations* durations = nullptr;
};

// Kernels, copies and fills that are guessed in one and timed in others get the duration from there, longer or shorter by as much as
// the kinds are that both have timed. Graphs have no name that two processes share.
void learn_from_other_ranks(const std::vector<KnownDurations>& ranks);

}  // namespace hostprobe::analysis
