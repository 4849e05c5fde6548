// collective_kernels.cpp: see collective_kernels.h.
#include "collective_kernels.h"

#include <algorithm>
#include <tuple>

namespace hostprobe::analysis {

CollectiveKernels::CollectiveKernels(const DeviceTimeline& device) {
  for (const Activity& activity : device.activities)
    if (activity.collective && activity.launch_tid != 0) kernels_.push_back(activity);
  std::sort(kernels_.begin(), kernels_.end(), [](const Activity& l, const Activity& r) {
    return std::tie(l.launch_tid, l.launch_ns) < std::tie(r.launch_tid, r.launch_ns);
  });
}

std::optional<GpuSpan> CollectiveKernels::launched_in(std::uint32_t tid, double begin_ns, double end_ns) const {
  const auto less = [](const Activity& l, const std::pair<std::uint32_t, double>& r) {
    return std::pair(l.launch_tid, l.launch_ns) < r;
  };
  auto at = std::lower_bound(kernels_.begin(), kernels_.end(), std::pair(tid, begin_ns), less);
  std::optional<GpuSpan> span;
  for (; at != kernels_.end() && at->launch_tid == tid && at->launch_ns <= end_ns; ++at) {
    if (!span) span = GpuSpan{at->begin_ns, at->end_ns};
    span->begin_ns = std::min(span->begin_ns, at->begin_ns);
    span->end_ns = std::max(span->end_ns, at->end_ns);
  }
  return span;
}

}  // namespace hostprobe::analysis
