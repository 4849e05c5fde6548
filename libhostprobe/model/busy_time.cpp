// busy_time.cpp: see busy_time.h.
#include "busy_time.h"

#include <algorithm>

namespace hostprobe::analysis {

std::vector<BusySpan> busy_spans(const DeviceTimeline& device, std::optional<std::uint32_t> ordinal,
                                 Certainty certainty) {
  std::vector<BusySpan> spans;
  for (std::size_t i = 0; i < device.activities.size(); ++i) {
    const Activity& activity = device.activities[i];
    if (ordinal && device.streams[activity.stream].device != *ordinal) continue;
    if (certainty == Certainty::kKnown && activity.unknown) continue;
    if (spans.empty() || activity.begin_ns > spans.back().end_ns)
      spans.push_back({activity.begin_ns, activity.end_ns, i, i});
    else if (activity.end_ns > spans.back().end_ns)
      spans.back().end_ns = activity.end_ns, spans.back().last = i;
  }
  return spans;
}

std::vector<BusySpan> without_hand_overs(const std::vector<BusySpan>& spans) {
  constexpr double kHandOverNs = 1'500;
  std::vector<BusySpan> joined;
  for (const BusySpan& span : spans) {
    if (joined.empty() || span.begin_ns - joined.back().end_ns > kHandOverNs)
      joined.push_back(span);
    else
      joined.back().end_ns = std::max(joined.back().end_ns, span.end_ns), joined.back().last = span.last;
  }
  return joined;
}

double busy_ns(const std::vector<BusySpan>& spans, const Window& window) {
  double all_ns = 0;
  auto span = std::lower_bound(spans.begin(), spans.end(), window.begin_ns,
                               [](const BusySpan& one, double at_ns) { return one.end_ns <= at_ns; });
  for (; span != spans.end() && span->begin_ns < window.end_ns; ++span)
    all_ns += std::min(span->end_ns, window.end_ns) - std::max(span->begin_ns, window.begin_ns);
  return all_ns;
}

}  // namespace hostprobe::analysis
