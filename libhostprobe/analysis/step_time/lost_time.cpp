// lost_time.cpp: see lost_time.h.
#include "lost_time.h"

#include <algorithm>

namespace hostprobe::analysis {

std::vector<Window> lost_time(const Timeline& timeline, const Track& track) {
  std::vector<Window> lost;
  bool missing = false;
  const auto add = [&](const Event& event) {
    if (event.type == EventType::kCall) {
      if (missing) lost.back().end_ns = std::max(lost.back().begin_ns, event.begin_ns);
      missing = false;
    } else if (event.type != EventType::kCounter && !missing) {
      missing = true;
      lost.emplace_back().begin_ns = event.begin_ns;
    }
  };
  timeline.walk(track, {0, track.thread->slices.size()}, add);
  return lost;
}

std::vector<Window> joined(std::vector<Window> windows) {
  std::sort(windows.begin(), windows.end(), [](const Window& l, const Window& r) { return l.begin_ns < r.begin_ns; });
  std::vector<Window> all;
  for (const Window& window : windows) {
    if (all.empty() || window.begin_ns > all.back().end_ns)
      all.push_back(window);
    else
      all.back().end_ns = std::max(all.back().end_ns, window.end_ns);
  }
  return all;
}

}  // namespace hostprobe::analysis
