// collective_kernels.cpp: see collective_kernels.h.
#include "collective_kernels.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "model/activity.h"

namespace hostprobe::analysis {

CollectiveKernels::CollectiveKernels(const DeviceTimeline& device) {
  for (std::uint32_t i = 0; i < device.activities.size(); ++i) {
    const Activity& one = device.activities[i];
    if (!one.collective || one.launch_tid == 0) continue;
    const float error_ns = one.unknown ? std::numeric_limits<float>::infinity() : one.error_ns;
    kernels_.push_back({one.begin_ns, one.end_ns, one.launch_ns, one.launch_tid, i, error_ns});
    are_exact_ = are_exact_ && error_ns == 0;
  }
  std::sort(kernels_.begin(), kernels_.end(), [](const Kernel& l, const Kernel& r) {
    return std::tie(l.launch_tid, l.launch_ns, l.number) < std::tie(r.launch_tid, r.launch_ns, r.number);
  });
}

std::optional<GpuSpan> CollectiveKernels::launched_in(std::uint32_t tid, double begin_ns, double end_ns) const {
  const auto less = [](const Kernel& l, const std::pair<std::uint32_t, double>& r) {
    return std::pair(l.launch_tid, l.launch_ns) < r;
  };
  auto at = std::lower_bound(kernels_.begin(), kernels_.end(), std::pair(tid, begin_ns), less);
  std::optional<GpuSpan> span;
  for (; at != kernels_.end() && at->launch_tid == tid && at->launch_ns <= end_ns; ++at) {
    if (!span) span = GpuSpan{at->begin_ns, at->end_ns, 0, {static_cast<std::uint32_t>(at - kernels_.begin()), 0}};
    ++span->kernels.count;
    span->begin_ns = std::min(span->begin_ns, at->begin_ns);
    span->end_ns = std::max(span->end_ns, at->end_ns);
    span->error_ns = std::max(span->error_ns, static_cast<double>(at->error_ns));
  }
  return span;
}

}  // namespace hostprobe::analysis
