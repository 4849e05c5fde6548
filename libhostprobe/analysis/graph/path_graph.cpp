// path_graph.cpp: see path_graph.h.
#include "path_graph.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "answer/wait.h"
#include "model/activity.h"
#include "model/host_clocks.h"
#include "model/nearly_sorted.h"
#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

// A kernel begins so long after the end of what it waited for.
constexpr double kHandOverNs = 3000;
constexpr double kMeasuredNs = 5000;         // by which ends that were measured are off
constexpr double kSameNs = 50;               // by which moments of one call may differ, moved to another axis and back
constexpr double kBehindNs = 10'000;         // an activity ends so late behind the call that waited for it
constexpr double kMostWithoutLaunch = 0.01;  // share of the activities
// From pinned memory over PCIe 4; 5 to 10 from pageable (CUDA's bandwidthTest).
constexpr double kPinnedBytesPerNs = 25, kPinnedLatencyNs = 2000;
constexpr double kPinnedPart = 0.25;  // of its time, where nobody knows the bytes

class Builder {
 public:
  Builder(const DeviceTimeline& device, const std::vector<Window>& windows, PathGraph& graph)
      : device_(device), graph_(graph) {
    for (std::uint32_t i = 0; i < device.activities.size(); ++i)
      if (window_of(device.activities[i], windows) != windows.end()) graph_.numbers.push_back(i);
    graph_.nodes.reserve(graph_.numbers.size());
    for (const std::uint32_t number : graph_.numbers) add_node(device.activities[number], windows);
    by_end_.resize(graph_.nodes.size());
    std::iota(by_end_.begin(), by_end_.end(), 0);
    const auto ends_before = [this](std::uint32_t l, std::uint32_t r) {
      return activity(l).end_ns < activity(r).end_ns;
    };
    if (!move_into_order(by_end_.begin(), by_end_.end(), ends_before))
      std::stable_sort(by_end_.begin(), by_end_.end(), ends_before);
  }

  void build() {
    for (std::size_t i = 0; i < graph_.host.threads.size(); ++i)
      threads_of_[graph_.host.threads[i].track == nullptr ? 0 : graph_.host.threads[i].track->key().tid].push_back(i);
    std::vector<std::uint32_t> last(device_.streams.size(), kNoActivity);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      link_launch(i);
      std::uint32_t& before = last[activity(i).stream];
      if (before != kNoActivity && follows(i, before)) graph_.nodes[i].before = before;
      if (before == kNoActivity || activity(before).end_ns <= activity(i).end_ns) before = i;
    }
    for (const HostThread& thread : graph_.host.threads)
      has_callbacks_ =
          has_callbacks_ || std::any_of(thread.calls.begin(), thread.calls.end(), [](const HostCall& call) {
            return call.type == HostCallType::kLaunch && call.function->role == HookRole::kLaunchCallback;
          });
    const double lag_ns = usual_lag_ns();
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) link_others(i, lag_ns);
    link_synchronises();
    link_done();
  }

 private:
  const Activity& activity(std::uint32_t number) const { return device_.activities[graph_.numbers[number]]; }

  // Branches of a graph overlap in one stream: the earlier one is then nothing to wait for. What different calls put there runs one after the
  // other; where times that were measured, or worked out, overlap by a little, they are not as exact. A profile's are.
  bool follows(std::uint32_t number, std::uint32_t before) const {
    if (activity(before).end_ns <= activity(number).begin_ns) return true;
    const CallNumber own = graph_.nodes[number].launch, other = graph_.nodes[before].launch;
    return device_.source != ActivitySource::kProfile && own.thread >= 0 && other.thread >= 0 &&
           (own.thread != other.thread || own.call != other.call);
  }

  // The end: it lies in none.
  static std::vector<Window>::const_iterator window_of(const Activity& one, const std::vector<Window>& windows) {
    const auto window = std::upper_bound(windows.begin(), windows.end(), one.begin_ns,
                                         [](double at, const Window& w) { return at < w.end_ns + kBehindNs; });
    return window == windows.end() || one.end_ns <= window->begin_ns ? windows.end() : window;
  }

  void add_node(const Activity& one, const std::vector<Window>& windows) {
    ActivityNode node;
    node.begin_ns = one.begin_ns;
    node.end_ns = one.end_ns;
    node.collective = one.collective;
    node.unknown = one.unknown;
    node.error_ns = one.error_ns;
    node.launched_before = one.launch_tid != 0 && one.launch_ns < window_of(one, windows)->begin_ns;
    graph_.nodes.push_back(node);
  }

  void link_launch(std::uint32_t number) {
    ActivityNode& node = graph_.nodes[number];
    if (node.launched_before) return;
    const auto threads = threads_of_.find(activity(number).launch_tid);
    if (activity(number).launch_tid != 0 && threads != threads_of_.end())
      for (const std::size_t thread : threads->second) {
        const std::ptrdiff_t at = call_round(graph_.host.threads[thread], activity(number).launch_ns);
        if (at < 0) continue;
        HostCall& call = graph_.host.threads[thread].calls[static_cast<std::size_t>(at)];
        if (call.type == HostCallType::kOther) call.type = HostCallType::kLaunch;
        node.launch = {static_cast<std::int32_t>(thread), static_cast<std::int32_t>(at)};
        node.blocks = activity(number).type == ActivityType::kCopy && !call.function->is(kSynchronises) &&
                      call.end_ns >= node.end_ns - kClockErrorNs;
        if (node.blocks) node.pinned_ns = static_cast<float>(pinned_ns(activity(number)));
      }
    graph_.without_launch += node.launch.thread < 0;
  }

  // A value that is read back takes no time but its latency, however long the driver was in the call.
  static double pinned_ns(const Activity& copy) {
    const double length_ns = copy.end_ns - copy.begin_ns;
    if (copy.bytes == 0) return kPinnedPart * length_ns;
    return std::min(length_ns, kPinnedLatencyNs + static_cast<double>(copy.bytes) / kPinnedBytesPerNs);
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

  // Of what began on an empty stream, and had nothing else to wait for.
  double usual_lag_ns() const {
    std::vector<double> lags;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const ActivityNode& node = graph_.nodes[i];
      if (node.launch.thread < 0 || (has_callbacks_ && callback_before(node).thread >= 0)) continue;
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
    // A replay knows what waited for what, and so does an account: one ends exactly when the other begins.
    const bool is_exact = device_.source != ActivitySource::kProfile;
    if (node.launch.thread >= 0) {
      const double since_ns = since_launch_ns(number);
      if (ready_ns < begin_ns && (is_exact || since_ns > 3 * lag_ns)) find_other(number, is_exact ? 0 : kHandOverNs);
      if (is_exact && node.from_other == kNoActivity &&
          begin_ns - std::max(ready_ns, graph_.call(node.launch).begin_ns + lag_ns) > 2 * kMeasuredNs)
        find_other_about(number);
      if (node.from_other != kNoActivity) ready_ns = std::max(ready_ns, activity(node.from_other).end_ns);
      if (has_callbacks_) node.callback = callback_before(node);
      // What waited for nothing else waited for its launch.
      const bool queued =
          node.callback.thread >= 0 || ready_ns >= graph_.call(node.launch).begin_ns + std::min(lag_ns, since_ns);
      node.lag_ns = queued ? std::min(lag_ns, since_ns) : since_ns;
      ready_ns = std::max(ready_ns, graph_.call(node.launch).begin_ns + node.lag_ns);
    } else if (ready_ns < begin_ns) {
      find_other(number, is_exact ? 0 : kHandOverNs);
      if (node.from_other != kNoActivity) ready_ns = std::max(ready_ns, activity(node.from_other).end_ns);
    }
    node.rest_ns = ready_ns > -1e300 ? std::max(0.0, begin_ns - ready_ns) : 0;
    if (node.rest_ns <= kHandOverNs) node.callback = {};
  }

  // The last function of the program's that was put into its stream since what ran before it, by the same thread.
  CallNumber callback_before(const ActivityNode& node) const {
    const CallNumber before = node.before == kNoActivity ? CallNumber{} : graph_.nodes[node.before].launch;
    const std::vector<HostCall>& calls = graph_.host.threads[static_cast<std::size_t>(node.launch.thread)].calls;
    for (std::int32_t i = node.launch.call - 1; i >= 0; --i) {
      if (before.thread == node.launch.thread && i <= before.call) break;
      const HostCall& call = calls[static_cast<std::size_t>(i)];
      if (call.function->role == HookRole::kLaunchCallback && call.stream == graph_.call(node.launch).stream)
        return {node.launch.thread, i};
    }
    return {};
  }

  // Behind the last that has ended by then.
  std::vector<std::uint32_t>::const_iterator ended_until(double ns) const {
    const std::size_t count =
        last_.find(by_end_.size(), [&](std::size_t i) { return activity(by_end_[i]).end_ns <= ns; });
    return by_end_.begin() + static_cast<std::ptrdiff_t>(count);
  }

  // The last to end before it on another stream, if that was just before.
  void find_other(std::uint32_t number, double tolerance_ns) {
    const double begin_ns = activity(number).begin_ns;
    auto one = ended_until(begin_ns);
    while (one != by_end_.begin()) {
      --one;
      if (activity(*one).end_ns < begin_ns - tolerance_ns) return;
      // One without a length that begins now could wait for this one as well.
      if (*one == number || activity(*one).begin_ns >= begin_ns) continue;
      graph_.nodes[number].from_other = *one;
      return;
    }
  }

  // The same, where measured ends are some microseconds off: the one that is nearest.
  void find_other_about(std::uint32_t number) {
    const double begin_ns = activity(number).begin_ns;
    double nearest_ns = kMeasuredNs;
    for (auto one = ended_until(begin_ns + kMeasuredNs); one != by_end_.begin();) {
      const Activity& other = activity(*--one);
      if (other.end_ns < begin_ns - kMeasuredNs) return;
      if (*one == number || other.begin_ns >= begin_ns || std::abs(other.end_ns - begin_ns) > nearest_ns) continue;
      nearest_ns = std::abs(other.end_ns - begin_ns);
      graph_.nodes[number].from_other = *one;
    }
  }

  void link_synchronises() {
    for (const HostThread& thread : graph_.host.threads) {
      std::vector<std::uint32_t>& ended_by = graph_.sync_activities.emplace_back(thread.calls.size(), kNoActivity);
      for (std::size_t i = 0; i < thread.calls.size(); ++i)
        if (thread.calls[i].type == HostCallType::kSynchronise) {
          ended_by[i] = last_to_end_in(thread.calls[i]);
          if (ended_by[i] != kNoActivity) bound_error(thread.calls[i], graph_.nodes[ended_by[i]]);
        }
    }
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
      if (const ActivityNode& node = graph_.nodes[i]; node.blocks)
        graph_
            .sync_activities[static_cast<std::size_t>(node.launch.thread)][static_cast<std::size_t>(node.launch.call)] =
            i;
  }

  // Else a host that found its GPU idle each time would seem to need nothing of it, and could run ahead without end.
  void link_done() {
    if (device_.waits.empty()) return;
    by_launch_.resize(graph_.nodes.size());
    std::iota(by_launch_.begin(), by_launch_.end(), 0);
    std::sort(by_launch_.begin(), by_launch_.end(),
              [this](std::uint32_t l, std::uint32_t r) { return activity(l).launch_ns < activity(r).launch_ns; });
    for (std::size_t i = 0; i < graph_.host.threads.size(); ++i) {
      const std::vector<HostCall>& calls = graph_.host.threads[i].calls;
      std::vector<std::uint32_t>& done = graph_.done_activities.emplace_back(calls.size(), kNoActivity);
      for (std::size_t call = 0; call < calls.size(); ++call)
        if (calls[call].type == HostCallType::kSynchronise && graph_.sync_activities[i][call] == kNoActivity)
          done[call] = done_before(calls[call].begin_ns);
    }
  }

  // What the call that begins then found done: the last of it to end.
  std::uint32_t done_before(double call_ns) const {
    auto wait = std::partition_point(device_.waits.begin(), device_.waits.end(),
                                     [&](const GpuWait& one) { return one.begin_ns < call_ns - kSameNs; });
    std::uint32_t last = kNoActivity;
    for (; wait != device_.waits.end() && wait->begin_ns <= call_ns + kSameNs; ++wait)
      if (const std::uint32_t node = launched_by(*wait);
          node != kNoActivity && (last == kNoActivity || activity(last).end_ns < activity(node).end_ns))
        last = node;
    return last;
  }

  std::uint32_t launched_by(const GpuWait& wait) const {
    auto node = std::partition_point(by_launch_.begin(), by_launch_.end(), [&](std::uint32_t one) {
      return activity(one).launch_ns < wait.launch_ns - kSameNs;
    });
    for (; node != by_launch_.end() && activity(*node).launch_ns <= wait.launch_ns + kSameNs; ++node)
      if (activity(*node).launch_tid == wait.launch_tid) return *node;
    return kNoActivity;
  }

  // What a wait that returned waited for had ended.
  static void bound_error(const HostCall& wait, ActivityNode& node) {
    if (node.end_ns <= wait.end_ns)
      node.error_ns = std::min(node.error_ns, static_cast<float>(wait.end_ns - node.end_ns));
  }

  std::uint32_t last_to_end_in(const HostCall& call) const {
    auto one = ended_until(call.end_ns + kClockErrorNs);
    while (one != by_end_.begin()) {
      --one;
      if (activity(*one).end_ns <= call.begin_ns) return kNoActivity;
      if (activity(*one).launch_ns <= call.end_ns && activity(*one).begin_ns < call.end_ns) return *one;
    }
    return kNoActivity;
  }

  const DeviceTimeline& device_;
  PathGraph& graph_;
  bool has_callbacks_ = false;
  std::vector<std::uint32_t> by_launch_;  // once it is asked for
  std::vector<std::uint32_t> by_end_;
  SearchHint last_;  // of ended_until()
  std::map<std::uint32_t, std::vector<std::size_t>> threads_of_;
};

std::int32_t launching_thread(const HostCalls& host) {
  std::int32_t most = -1;
  for (std::size_t i = 0; i < host.threads.size(); ++i) {
    const std::size_t launches = host.threads[i].launches;
    if (launches > 0 && (most < 0 || launches > host.threads[static_cast<std::size_t>(most)].launches))
      most = static_cast<std::int32_t>(i);
  }
  return most;
}

}  // namespace

TimeAxis axis_of(const Timeline& timeline, const HostClock& clock, std::uint64_t base_ns) {
  const std::uint64_t first_ns = clock.to_reference(timeline.trace().clock.monotonic_ns_of(0));
  return {static_cast<double>(static_cast<std::int64_t>(first_ns - base_ns)), 1 - clock.drift};
}

void put_on(const TimeAxis& axis, HostCalls& host) {
  for (Window& collection : host.collections) collection = {axis.of(collection.begin_ns), axis.of(collection.end_ns)};
  for (HostThread& thread : host.threads)
    for (HostCall& call : thread.calls) {
      call.begin_ns = axis.of(call.begin_ns);
      call.end_ns = axis.of(call.end_ns);
      call.post_ns = axis.of(call.post_ns);
    }
}

bool PathGraph::is_whole() const {
  return main >= 0 && host.whole && host.threads[static_cast<std::size_t>(main)].whole &&
         static_cast<double>(without_launch) <= kMostWithoutLaunch * static_cast<double>(nodes.size());
}

std::uint32_t PathGraph::node_of(std::uint32_t activity) const {
  const auto found = std::lower_bound(numbers.begin(), numbers.end(), activity);
  return found == numbers.end() || *found != activity ? kNoActivity
                                                      : static_cast<std::uint32_t>(found - numbers.begin());
}

PathGraph make_path_graph(const Timeline& timeline, const DeviceTimeline& device, const std::vector<Window>& windows,
                          const TimeAxis& axis) {
  PathGraph graph;
  graph.host = host_calls(timeline, windows);
  Builder(device, windows, graph).build();
  graph.main = launching_thread(graph.host);
  for (ActivityNode& node : graph.nodes) {
    node.begin_ns = axis.of(node.begin_ns);
    node.end_ns = axis.of(node.end_ns);
  }
  put_on(axis, graph.host);
  return graph;
}

}  // namespace hostprobe::analysis
