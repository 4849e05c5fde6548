// collective_kernels.h: which work on the GPU a call of the host caused: what was launched inside of it by its thread.
//
// Room 3. NCCL launches the kernel of a collective inside the call, or inside the end of its group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/timeline/activity.h"

namespace hostprobe::analysis {

struct GpuSpan {
  double begin_ns = 0;  // as in event.h
  double end_ns = 0;
};

class CollectiveKernels {
 public:
  explicit CollectiveKernels(const DeviceTimeline& device);
  bool empty() const { return kernels_.empty(); }
  // From the first begin to the last end of what thread `tid` launched in that time. Nothing: no kernel.
  std::optional<GpuSpan> launched_in(std::uint32_t tid, double begin_ns, double end_ns) const;

 private:
  std::vector<Activity> kernels_;  // by thread and time of launch
};

}  // namespace hostprobe::analysis
