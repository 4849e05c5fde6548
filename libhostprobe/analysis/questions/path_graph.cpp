// path_graph.cpp: see path_graph.h.
#include "path_graph.h"

#include <algorithm>
#include <map>

namespace hostprobe::analysis {
namespace {

constexpr double kClockErrorNs = 1000;  // the host's clock and the GPU's tell of the same moment
// A kernel of a real GPU begins so long after the end of what it waited for; a simulated one at once.
constexpr double kHandOverNs = 3000;

class Builder {
 public:
  Builder(const DeviceTimeline& device, PathGraph& graph) : device_(device), graph_(graph) {
    graph_.nodes.resize(device.activities.size());
    for (std::uint32_t i = 0; i < device.activities.size(); ++i) by_end_.push_back(i);
    std::stable_sort(by_end_.begin(), by_end_.end(),
                     [this](std::uint32_t l, std::uint32_t r) { return activity(l).end_ns < activity(r).end_ns; });
  }

  void build() {
    for (std::size_t i = 0; i < graph_.host.threads.size(); ++i)
      threads_of_[graph_.host.threads[i].track == nullptr ? 0 : graph_.host.threads[i].track->key().tid].push_back(i);
    std::vector<std::uint32_t> last(device_.streams.size(), kNoActivity);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      link_launch(i);
      std::uint32_t& before = last[activity(i).stream];
      // Branches of a graph overlap in one stream: the earlier one is then nothing to wait for.
      if (before != kNoActivity && activity(before).end_ns <= activity(i).begin_ns) graph_.nodes[i].before = before;
      if (before == kNoActivity || activity(before).end_ns <= activity(i).end_ns) before = i;
    }
    const double lag_ns = usual_lag_ns();
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) link_others(i, lag_ns);
    link_synchronises();
  }

 private:
  const Activity& activity(std::uint32_t number) const { return device_.activities[number]; }

  void link_launch(std::uint32_t number) {
    ActivityNode& node = graph_.nodes[number];
    const auto threads = threads_of_.find(activity(number).launch_tid);
    if (activity(number).launch_tid != 0 && threads != threads_of_.end())
      for (const std::size_t thread : threads->second) {
        const std::ptrdiff_t at = call_round(graph_.host.threads[thread], activity(number).launch_ns);
        if (at < 0) continue;
        HostCall& call = graph_.host.threads[thread].calls[static_cast<std::size_t>(at)];
        if (call.type == HostCallType::kOther) call.type = HostCallType::kLaunch;
        node.launch = {static_cast<std::int32_t>(thread), static_cast<std::int32_t>(at)};
      }
    graph_.without_launch += node.launch.thread < 0;
  }

  // The call that holds the moment, else the nearest within the error of the clocks.
  static std::ptrdiff_t call_round(const HostThread& thread, double at_ns) {
    const std::ptrdiff_t before = thread.call_at(at_ns);
    double nearest_ns = kClockErrorNs;
    std::ptrdiff_t found = -1;
    if (before >= 0) {
      const double away_ns = std::max(0.0, at_ns - thread.calls[static_cast<std::size_t>(before)].end_ns);
      if (away_ns <= nearest_ns) found = before, nearest_ns = away_ns;
    }
    const auto after = static_cast<std::size_t>(before + 1);
    if (after < thread.calls.size() && thread.calls[after].begin_ns - at_ns < nearest_ns) found = before + 1;
    return found;
  }

  double since_launch_ns(std::uint32_t number) const {
    return std::max(0.0, activity(number).begin_ns - graph_.call(graph_.nodes[number].launch).begin_ns);
  }

  // Of what began on an empty stream.
  double usual_lag_ns() const {
    std::vector<double> lags;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const ActivityNode& node = graph_.nodes[i];
      if (node.launch.thread < 0) continue;
      if (node.before == kNoActivity || activity(node.before).end_ns < graph_.call(node.launch).begin_ns)
        lags.push_back(since_launch_ns(i));
    }
    if (lags.empty()) return 0;
    const auto middle = lags.begin() + static_cast<std::ptrdiff_t>((lags.size() - 1) / 2);
    std::nth_element(lags.begin(), middle, lags.end());
    return *middle;
  }

  void link_others(std::uint32_t number, double lag_ns) {
    ActivityNode& node = graph_.nodes[number];
    const double begin_ns = activity(number).begin_ns;
    double ready_ns = node.before == kNoActivity ? -1e300 : activity(node.before).end_ns;
    const bool simulated = device_.source == ActivitySource::kSimulated;
    if (node.launch.thread >= 0) {
      const double since_ns = since_launch_ns(number);
      if (ready_ns < begin_ns && (simulated || since_ns > 3 * lag_ns)) find_other(number, simulated ? 0 : kHandOverNs);
      if (node.from_other != kNoActivity) ready_ns = std::max(ready_ns, activity(node.from_other).end_ns);
      // What waited for nothing else waited for its launch.
      const bool queued = ready_ns >= graph_.call(node.launch).begin_ns + std::min(lag_ns, since_ns);
      node.lag_ns = queued ? std::min(lag_ns, since_ns) : since_ns;
      ready_ns = std::max(ready_ns, graph_.call(node.launch).begin_ns + node.lag_ns);
    } else if (ready_ns < begin_ns) {
      find_other(number, simulated ? 0 : kHandOverNs);
      if (node.from_other != kNoActivity) ready_ns = std::max(ready_ns, activity(node.from_other).end_ns);
    }
    node.rest_ns = ready_ns > -1e300 ? std::max(0.0, begin_ns - ready_ns) : 0;
  }

  // The last to end before it on another stream, if that was just before.
  void find_other(std::uint32_t number, double tolerance_ns) {
    const double begin_ns = activity(number).begin_ns;
    auto one = std::upper_bound(by_end_.begin(), by_end_.end(), begin_ns,
                                [this](double at, std::uint32_t other) { return at < activity(other).end_ns; });
    while (one != by_end_.begin()) {
      --one;
      if (activity(*one).end_ns < begin_ns - tolerance_ns) return;
      // One without a length that begins now could wait for this one as well.
      if (*one == number || activity(*one).begin_ns >= begin_ns) continue;
      graph_.nodes[number].from_other = *one;
      return;
    }
  }

  void link_synchronises() {
    for (const HostThread& thread : graph_.host.threads) {
      std::vector<std::uint32_t>& ended_by = graph_.sync_activities.emplace_back(thread.calls.size(), kNoActivity);
      for (std::size_t i = 0; i < thread.calls.size(); ++i)
        if (thread.calls[i].type == HostCallType::kSynchronise) ended_by[i] = last_to_end_in(thread.calls[i]);
    }
  }

  std::uint32_t last_to_end_in(const HostCall& call) const {
    auto one = std::upper_bound(by_end_.begin(), by_end_.end(), call.end_ns + kClockErrorNs,
                                [this](double at, std::uint32_t other) { return at < activity(other).end_ns; });
    while (one != by_end_.begin()) {
      --one;
      if (activity(*one).end_ns <= call.begin_ns) return kNoActivity;
      if (activity(*one).launch_ns <= call.end_ns && activity(*one).begin_ns < call.end_ns) return *one;
    }
    return kNoActivity;
  }

  const DeviceTimeline& device_;
  PathGraph& graph_;
  std::vector<std::uint32_t> by_end_;
  std::map<std::uint32_t, std::vector<std::size_t>> threads_of_;
};

}  // namespace

PathGraph make_path_graph(const Timeline& timeline, const DeviceTimeline& device, const Window& window) {
  PathGraph graph;
  graph.device = &device;
  graph.host = host_calls(timeline, window);
  Builder(device, graph).build();
  return graph;
}

}  // namespace hostprobe::analysis
