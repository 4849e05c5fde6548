// op_times.h: when the ops of a process ran on its GPU, as far as that is known.
//
// Room 3.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_work.h"

namespace hostprobe::analysis {

struct OpTime {
  double begin_ns = 0, end_ns = 0;
  float begin_error_ns = 0, end_error_ns = 0;
  std::uint32_t bound_by = kNoOp;  // the op whose end let it begin; kNoOp: its launch, or another rank
  bool guessed = false;            // its duration is not known, and nothing else tells its end
  bool heard = false;   // but a host that waited for it, or work behind it: of what waited for ranks that nobody saw
  bool unseen = false;  // it ended behind such ranks, and nothing tells when

  bool is_known() const { return !guessed || heard; }
};

using OpTimes = std::vector<OpTime>;  // by number in GpuWork::ops

}  // namespace hostprobe::analysis
