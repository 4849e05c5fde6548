// gaps.cpp: the gaps of gpu_busy.h.

#include <algorithm>

#include "analysis/measures/gpu_busy.h"
#include "model/busy_time.h"
#include "model/launch_calls.h"
#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostLongest = 10;
constexpr std::size_t kMostHeld = 4096;  // until the longest of them are chosen

struct Idle {
  double begin_ns;
  double end_ns;
  std::size_t ended_by;  // activity

  double length_ns() const { return end_ns - begin_ns; }
};

// Where launches are the limit there are as many as kernels, so only the longest are held.
class Idles {
 public:
  void add(const Idle& idle) {
    length_.add(idle.length_ns());
    held_.push_back(idle);
    if (held_.size() == kMostHeld) keep_longest();
  }
  const Histogram& length() const { return length_; }
  // Longest first.
  const std::vector<Idle>& longest() {
    keep_longest();
    return held_;
  }

 private:
  void keep_longest() {
    const std::size_t most = std::min(held_.size(), kMostLongest);
    std::partial_sort(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(most), held_.end(),
                      [](const Idle& l, const Idle& r) {
                        return l.length_ns() != r.length_ns() ? l.length_ns() > r.length_ns() : l.begin_ns < r.begin_ns;
                      });
    held_.resize(most);
  }

  Histogram length_;
  std::vector<Idle> held_;
};

void add_idle(const std::vector<BusySpan>& spans, const Window& window, Idles& all) {
  const auto next = std::partition_point(spans.begin(), spans.end(),
                                         [&window](const BusySpan& span) { return span.begin_ns <= window.begin_ns; });
  for (auto i = static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, next - spans.begin()));
       i < spans.size() && spans[i - 1].end_ns < window.end_ns; ++i) {
    const Idle idle{std::max(spans[i - 1].end_ns, window.begin_ns), std::min(spans[i].begin_ns, window.end_ns),
                    spans[i].first};
    if (idle.length_ns() > 0) all.add(idle);
  }
}

void describe_longest(const Timeline& timeline, const DeviceTimeline& device, const std::vector<Idle>& idles,
                      GapAnswer& answer) {
  std::vector<LaunchCall> calls;
  for (const Idle& idle : idles) {
    const Activity& next = device.activities[idle.ended_by];
    calls.push_back({next.launch_tid, next.launch_ns});
  }
  find_launch_calls(timeline, calls);
  for (std::size_t i = 0; i < idles.size(); ++i) {
    const Activity& next = device.activities[idles[i].ended_by];
    Gap gap{idles[i].begin_ns, idles[i].end_ns, device.names[next.name], {}, next.launch_tid, {}, next.launch_ns};
    if (calls[i].function != nullptr) gap.function = calls[i].function->name;
    if (calls[i].track != nullptr) gap.thread = calls[i].track->thread->name;
    answer.longest.push_back(std::move(gap));
  }
}

}  // namespace

std::optional<GapAnswer> answer_gaps(const Timeline& timeline, const DeviceTimeline& device, const Window& window,
                                     const std::vector<Window>& steps) {
  if (device.source == ActivitySource::kNone || !device.is_whole()) return std::nullopt;
  const std::vector<BusySpan> spans = busy_spans(device);
  Idles idles;
  if (steps.empty()) add_idle(spans, window, idles);
  for (const Window& step : steps) add_idle(spans, step, idles);
  GapAnswer answer;
  answer.length = idles.length();
  describe_longest(timeline, device, idles.longest(), answer);
  return answer;
}

}  // namespace hostprobe::analysis
