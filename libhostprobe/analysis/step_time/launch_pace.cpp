// launch_pace.cpp: see launch_pace.h.
#include "launch_pace.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

// An eager framework takes 5 to 50 µs from one kernel's launch to the next; what takes longer does more than launch, however often.
constexpr double kMostNs = 100'000;
// Tukey's outer fence: what is beyond is of another kind than the rest.
constexpr double kFence = 3;

}  // namespace

LaunchPace launch_pace_of(const PathGraph& graph) {
  LaunchPace pace;
  std::vector<double> gaps;
  if (graph.main < 0) return pace;
  const std::vector<HostCall>& calls = graph.host.threads[static_cast<std::size_t>(graph.main)].calls;
  for (std::size_t i = 1; i < calls.size(); ++i)
    if (calls[i].type == HostCallType::kLaunch) gaps.push_back(calls[i].begin_ns - calls[i - 1].end_ns);
  if (gaps.empty()) return pace;
  std::sort(gaps.begin(), gaps.end());
  const double lower = gaps[gaps.size() / 4], upper = gaps[3 * gaps.size() / 4];
  pace.most_ns_ = std::min(kMostNs, upper + kFence * (upper - lower));
  return pace;
}

bool LaunchPace::is_usual(const HostThread& thread, const Window& part) const {
  const std::ptrdiff_t at = thread.call_at(part.begin_ns);
  const double from_ns =
      at < 0 ? part.begin_ns : std::min(part.begin_ns, thread.calls[static_cast<std::size_t>(at)].end_ns);
  const bool has_next = at + 1 < std::ssize(thread.calls);
  const double to_ns =
      has_next ? std::max(part.end_ns, thread.calls[static_cast<std::size_t>(at + 1)].begin_ns) : part.end_ns;
  return most_ns_ > 0 && to_ns - from_ns <= most_ns_;
}

}  // namespace hostprobe::analysis
