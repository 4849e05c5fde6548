// looked_at.cpp: see looked_at.h.
#include "looked_at.h"

#include <algorithm>

namespace hostprobe::analysis {

std::vector<Window> LookedAt::rest_of(const Window& window) {
  if (!is_sorted_)
    std::sort(windows_.begin(), windows_.end(),
              [](const Window& l, const Window& r) { return l.begin_ns < r.begin_ns; });
  is_sorted_ = true;
  std::vector<Window> rest;
  double at_ns = window.begin_ns;
  while (next_ < windows_.size() && windows_[next_].begin_ns < window.end_ns) {
    const Window& looked = windows_[next_];
    if (looked.begin_ns > at_ns) rest.push_back({at_ns, looked.begin_ns});
    at_ns = std::max(at_ns, looked.end_ns);
    if (looked.end_ns > window.end_ns) break;  // the next window begins in it
    ++next_;
  }
  if (at_ns < window.end_ns) rest.push_back({at_ns, window.end_ns});
  return rest;
}

}  // namespace hostprobe::analysis
