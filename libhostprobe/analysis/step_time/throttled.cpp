// throttled.cpp: see throttled.h.
#include "throttled.h"

#include <algorithm>

namespace hostprobe::analysis {

double ThrottledTime::take(const HostThread& thread, const Window& window, double lost_ns) {
  if (times_.empty() || lost_ns <= 0) return 0;
  std::vector<double>& taken_ns = taken_ns_[&thread];
  taken_ns.resize(times_.size());
  auto one = std::partition_point(times_.begin(), times_.end(),
                                  [&](const Throttled& time) { return time.window.end_ns <= window.begin_ns; });
  double all_ns = 0;
  for (; one != times_.end() && one->window.begin_ns < window.end_ns; ++one) {
    const double inside_ns =
        std::min(window.end_ns, one->window.end_ns) - std::max(window.begin_ns, one->window.begin_ns);
    double& taken = taken_ns[static_cast<std::size_t>(one - times_.begin())];
    const double part_ns = std::min(lost_ns * inside_ns / window.length_ns(), one->ns - taken);
    taken += part_ns;
    all_ns += part_ns;
  }
  return all_ns;
}

}  // namespace hostprobe::analysis
