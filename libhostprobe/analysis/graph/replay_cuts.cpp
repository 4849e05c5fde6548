// replay_cuts.cpp: see replay_cuts.h.
#include "replay_cuts.h"

#include <algorithm>
#include <utility>

namespace hostprobe::analysis {

void ReplayCuts::add(std::uint32_t part, std::int32_t thread, const Window& window, double ns) {
  if (part >= parts_.size()) parts_.resize(part + 1);
  const auto number = static_cast<std::size_t>(thread - kGpuCuts);
  if (number >= parts_[part].size()) parts_[part].resize(number + 1);
  parts_[part][number].cuts.push_back({window, ns});
}

void ReplayCuts::take(ReplayCuts& from, std::uint32_t part, double share) {
  if (part >= from.parts_.size()) return;
  std::vector<Thread> threads = std::exchange(from.parts_[part], {});
  for (std::size_t number = 0; number < threads.size(); ++number)
    for (const Cut& cut : threads[number].cuts)
      add(part, static_cast<std::int32_t>(number) + kGpuCuts, cut.window, share * cut.ns);
}

void ReplayCuts::sort() {
  for (std::vector<Thread>& threads : parts_)
    for (Thread& thread : threads)
      std::sort(thread.cuts.begin(), thread.cuts.end(),
                [](const Cut& l, const Cut& r) { return l.window.begin_ns < r.window.begin_ns; });
}

// Of one cause, so hardly any two of them overlap.
double ReplayCuts::Thread::inside_ns(double begin_ns, double end_ns) const {
  const std::size_t first = last.find(cuts.size(), [&](std::size_t i) { return cuts[i].window.end_ns <= begin_ns; });
  auto cut = cuts.begin() + static_cast<std::ptrdiff_t>(first);
  double ns = 0;
  for (; cut != cuts.end() && cut->window.begin_ns < end_ns; ++cut) {
    const double inside = std::min(end_ns, cut->window.end_ns) - std::max(begin_ns, cut->window.begin_ns);
    if (inside > 0) ns += cut->ns * inside / cut->window.length_ns();
  }
  return std::min(ns, end_ns - begin_ns);
}

}  // namespace hostprobe::analysis
