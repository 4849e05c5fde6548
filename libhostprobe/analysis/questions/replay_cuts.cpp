// replay_cuts.cpp: see replay_cuts.h.
#include "replay_cuts.h"

#include <algorithm>

namespace hostprobe::analysis {

void ReplayCuts::sort() {
  for (auto& [thread, cuts] : threads_)
    std::sort(cuts.begin(), cuts.end(),
              [](const Cut& l, const Cut& r) { return l.window.begin_ns < r.window.begin_ns; });
}

// Of one cause, so hardly any two of them overlap.
double ReplayCuts::inside_ns(std::uint32_t part, std::int32_t thread, double begin_ns, double end_ns) const {
  const auto found = threads_.find({part, thread});
  if (found == threads_.end() || end_ns <= begin_ns) return 0;
  const std::vector<Cut>& cuts = found->second;
  auto cut =
      std::partition_point(cuts.begin(), cuts.end(), [&](const Cut& one) { return one.window.end_ns <= begin_ns; });
  double ns = 0;
  for (; cut != cuts.end() && cut->window.begin_ns < end_ns; ++cut) {
    const double inside = std::min(end_ns, cut->window.end_ns) - std::max(begin_ns, cut->window.begin_ns);
    if (inside > 0) ns += cut->ns * inside / cut->window.length_ns();
  }
  return std::min(ns, end_ns - begin_ns);
}

}  // namespace hostprobe::analysis
