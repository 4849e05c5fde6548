// launch_calls.cpp: see launch_calls.h.
#include "launch_calls.h"

#include <algorithm>

#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

// Two clocks tell of the same moment, and neither is read exactly when the call begins or ends.
constexpr double kClockErrorNs = 2000;

struct Wanted {
  double at_ns;
  std::size_t call;
  double distance_ns = kClockErrorNs;
};

double distance_ns(const Event& event, double at_ns) {
  return std::max({0.0, event.begin_ns - at_ns, at_ns - event.end_ns});
}

class Lookup {
 public:
  Lookup(std::vector<Wanted> wanted, std::vector<LaunchCall>& calls) : wanted_(std::move(wanted)), calls_(calls) {
    std::sort(wanted_.begin(), wanted_.end(), [](const Wanted& l, const Wanted& r) { return l.at_ns < r.at_ns; });
  }

  // Of several calls round the moment the one that began last: a collective holds its launch.
  void add(const Event& event) {
    if (event.type != EventType::kCall || event.counted || !event.is(kOfDriver)) return;
    auto one = std::lower_bound(wanted_.begin(), wanted_.end(), event.begin_ns - kClockErrorNs,
                                [](const Wanted& l, double at_ns) { return l.at_ns < at_ns; });
    for (; one != wanted_.end() && one->at_ns <= event.end_ns + kClockErrorNs; ++one) {
      const double away_ns = distance_ns(event, one->at_ns);
      if (away_ns > one->distance_ns) continue;
      one->distance_ns = away_ns;
      calls_[one->call].function = event.function;
      calls_[one->call].track = event.track;
    }
  }

 private:
  std::vector<Wanted> wanted_;
  std::vector<LaunchCall>& calls_;
};

}  // namespace

void find_launch_calls(const Timeline& timeline, std::vector<LaunchCall>& calls) {
  for (const Track& track : timeline.tracks()) {
    std::vector<Wanted> wanted;
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (calls[i].tid == track.key().tid) wanted.push_back({calls[i].at_ns, i});
    if (wanted.empty()) continue;
    Lookup lookup(std::move(wanted), calls);
    timeline.walk(track, [&lookup](const Event& event) { lookup.add(event); });
  }
}

}  // namespace hostprobe::analysis
