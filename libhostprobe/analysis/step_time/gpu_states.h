// gpu_states.h: what one process's GPU did at each moment: worked, moved data, waited for another rank, or nothing.
//
// Room 3. Over all its streams: where one works, another one's waiting costs nothing.
#pragma once

#include <vector>

#include "analysis/graph/job_graph.h"

namespace hostprobe::analysis {

enum class GpuState : std::uint8_t {
  kWorks,      // a kernel, copy or fill
  kBlocks,     // only a copy that the host waits for
  kTransfers,  // only kernels of NCCL's for which all ranks had come
  kWaits,      // only such for which one had not
  kUnknown,    // nobody can say whether it did anything
  kIdle,
};

struct GpuStretch {
  double begin_ns = 0;
  double end_ns = 0;
  GpuState state = GpuState::kIdle;
  const PathOperation* operation = nullptr;  // of kWaits; nullptr: for ranks that the run has no trace of
  std::uint32_t activity = kNoActivity;      // of kIdle and kUnknown: what ended it; of kBlocks and kWaits: what it is
  double dry_ns = 0;                         // of kIdle: when the work before it ended, most likely
  std::uint32_t ended = kNoActivity;         // of kIdle: that work
};

// From the first activity of the part to the last, without holes, by time.
std::vector<GpuStretch> gpu_stretches(const JobGraph& job, std::uint32_t part);

}  // namespace hostprobe::analysis
