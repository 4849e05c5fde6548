// critical_path.cpp: see critical_path.h.
#include "critical_path.h"

#include <algorithm>
#include <cmath>

#include "path_graph.h"
#include "path_replay.h"

namespace hostprobe::analysis {
namespace {

constexpr double kMostDriftPct = 1;
constexpr double kMostWithoutLaunch = 0.01;  // share of the activities

// From the end of a stretch backwards, always along what ended last: the others had time to spare.
class Walk {
 public:
  Walk(const PathGraph& graph, const Window& window, const PathEnd& end)
      : graph_(graph),
        begin_ns_(window.begin_ns),
        at_ns_(window.end_ns),
        main_(end.thread),
        thread_(end.thread),
        activity_(end.activity) {}

  std::array<double, kPathClasses> shares() {
    std::size_t standing = 0;
    while (at_ns_ > begin_ns_) {
      const double before_ns = at_ns_;
      if (activity_ != kNoActivity)
        leave_activity();
      else
        leave_thread();
      standing = at_ns_ < before_ns ? 0 : standing + 1;
      if (standing > graph_.nodes.size() + 64) take(PathClass::kCpu, begin_ns_);  // damaged times only
    }
    return shares_;
  }

 private:
  void take(PathClass one, double until_ns) {
    const double to_ns = std::min(at_ns_, std::max(until_ns, begin_ns_));
    shares_[static_cast<std::size_t>(one)] += at_ns_ - to_ns;
    at_ns_ = to_ns;
  }

  void leave_thread() {
    const HostThread& thread = graph_.host.threads[static_cast<std::size_t>(thread_)];
    std::ptrdiff_t at = thread.call_at(at_ns_);
    if (at >= 0 && thread.calls[static_cast<std::size_t>(at)].begin_ns >= at_ns_) --at;
    if (at < 0) return take(PathClass::kCpu, begin_ns_);
    const HostCall& call = thread.calls[static_cast<std::size_t>(at)];
    if (call.end_ns < at_ns_) return take(PathClass::kCpu, call.end_ns);
    const std::uint32_t ended_by =
        graph_.sync_activities[static_cast<std::size_t>(thread_)][static_cast<std::size_t>(at)];
    if (ended_by != kNoActivity) {
      take(PathClass::kCpu, graph_.device->activities[ended_by].end_ns);
      activity_ = ended_by;
    } else if (call.type == HostCallType::kWait && call.post_ns < at_ns_) {
      take(PathClass::kCpu, call.post_ns);
      thread_ = call.waker;
    } else {
      take(call.type == HostCallType::kLaunch ? PathClass::kLaunch : PathClass::kCpu, call.begin_ns);
    }
  }

  void leave_activity() {
    const Activity& activity = graph_.device->activities[activity_];
    const ActivityNode& node = graph_.nodes[activity_];
    take(class_of(activity), activity.begin_ns);
    std::uint32_t other = node.before;
    if (node.from_other != kNoActivity && (other == kNoActivity || end_of(node.from_other) > end_of(other)))
      other = node.from_other;
    const bool launched = node.launch.thread >= 0;
    const double launch_ns = launched ? graph_.call(node.launch).begin_ns : 0;
    if (other != kNoActivity && (!launched || end_of(other) >= launch_ns + node.lag_ns)) {
      take(PathClass::kGpuCompute, end_of(other));
      activity_ = other;
      return;
    }
    activity_ = kNoActivity;
    thread_ = launched ? node.launch.thread : main_;
    if (launched) take(PathClass::kLaunch, launch_ns);
  }

  double end_of(std::uint32_t number) const { return graph_.device->activities[number].end_ns; }

  const PathGraph& graph_;
  const double begin_ns_;
  double at_ns_;
  std::int32_t main_, thread_;
  std::uint32_t activity_;
  std::array<double, kPathClasses> shares_{};
};

void add_stretch(const PathGraph& graph, PathReplay& replay, const Window& window, const PathEnd& end,
                 PathAnswer& answer) {
  const double length_ns = window.end_ns - window.begin_ns;
  if (length_ns <= 0) return;
  answer.length_ns += length_ns;
  const std::array<double, kPathClasses> shares = Walk(graph, window, end).shares();
  PathReplay::Factors factors;
  factors.fill(1);
  answer.replayed_ns += replay.run(window, end, factors);
  for (std::size_t i = 0; i < kPathClasses; ++i) {
    answer.share_ns[i] += shares[i];
    factors[i] = 0;
    answer.without_ns[i] += replay.run(window, end, factors);
    factors[i] = 1;
  }
}

std::int32_t launching_thread(const PathGraph& graph) {
  std::int32_t most = -1;
  for (std::size_t i = 0; i < graph.host.threads.size(); ++i) {
    const HostThread& thread = graph.host.threads[i];
    if (thread.launches > 0 &&
        (most < 0 || thread.launches > graph.host.threads[static_cast<std::size_t>(most)].launches))
      most = static_cast<std::int32_t>(i);
  }
  return most;
}

// From the first launch to the end of the thread's last call, or of the last activity where that is later.
void add_all(const PathGraph& graph, PathReplay& replay, std::int32_t thread, PathAnswer& answer) {
  const std::vector<HostCall>& calls = graph.host.threads[static_cast<std::size_t>(thread)].calls;
  const auto first =
      std::find_if(calls.begin(), calls.end(), [](const HostCall& call) { return call.type == HostCallType::kLaunch; });
  if (first == calls.end()) return;
  Window window{first->begin_ns, calls.back().end_ns};
  PathEnd end{thread, kNoActivity};
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.device->activities[i].end_ns <= window.end_ns) continue;
    window.end_ns = graph.device->activities[i].end_ns;
    end.activity = i;
  }
  add_stretch(graph, replay, window, end, answer);
}

}  // namespace

const char* path_class_name(PathClass one) {
  constexpr const char* kNames[kPathClasses] = {"cpu", "gpu_compute", "communication", "launch"};
  return kNames[static_cast<std::size_t>(one)];
}

double PathAnswer::share_pct(PathClass one) const { return 100 * share_ns[static_cast<std::size_t>(one)] / length_ns; }

double PathAnswer::drift_pct() const { return 100 * (replayed_ns - length_ns) / length_ns; }

std::optional<double> PathAnswer::gain_pct(PathClass one) const {
  if (std::abs(drift_pct()) > kMostDriftPct) return std::nullopt;
  return 100 * (replayed_ns - without_ns[static_cast<std::size_t>(one)]) / replayed_ns;
}

std::optional<PathAnswer> answer_critical_path(const Timeline& timeline, const DeviceTimeline& device,
                                               const Window& window, const std::vector<Window>& steps) {
  if (device.source == ActivitySource::kNone || !device.is_whole() || device.activities.empty()) return std::nullopt;
  const PathGraph graph = make_path_graph(timeline, device, window);
  const std::int32_t thread = launching_thread(graph);
  if (thread < 0 || !graph.host.whole || !graph.host.threads[static_cast<std::size_t>(thread)].whole)
    return std::nullopt;
  if (static_cast<double>(graph.without_launch) > kMostWithoutLaunch * static_cast<double>(graph.nodes.size()))
    return std::nullopt;
  PathReplay replay(graph);
  PathAnswer answer;
  if (steps.empty()) add_all(graph, replay, thread, answer);
  for (const Window& step : steps) add_stretch(graph, replay, step, {thread, kNoActivity}, answer);
  if (answer.length_ns <= 0) return std::nullopt;
  return answer;
}

}  // namespace hostprobe::analysis
