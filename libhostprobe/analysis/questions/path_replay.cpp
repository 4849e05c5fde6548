// path_replay.cpp: see path_replay.h.
#include "path_replay.h"

#include <algorithm>

namespace hostprobe::analysis {

PathClass class_of(const Activity& activity) {
  return activity.collective ? PathClass::kCommunication : PathClass::kGpuCompute;
}

PathReplay::PathReplay(const PathGraph& graph) : graph_(graph) {
  for (std::size_t thread = 0; thread < graph.host.threads.size(); ++thread) {
    const std::vector<HostCall>& calls = graph.host.threads[thread].calls;
    call_end_.emplace_back(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i)
      order_.push_back({calls[i].end_ns, static_cast<std::int32_t>(thread), static_cast<std::uint32_t>(i)});
  }
  const std::vector<Activity>& activities = graph.device->activities;
  activity_end_.resize(activities.size());
  for (std::uint32_t i = 0; i < activities.size(); ++i) order_.push_back({activities[i].end_ns, -1, i});
  // Activities first: a call may end with one.
  std::stable_sort(order_.begin(), order_.end(), [](const Item& l, const Item& r) {
    return l.end_ns != r.end_ns ? l.end_ns < r.end_ns : (l.thread < 0) > (r.thread < 0);
  });
}

double PathReplay::run(const Window& window, const PathEnd& end, const Factors& factors) {
  factors_ = factors;
  begin_ns_ = window.begin_ns;
  main_ = end.thread;
  auto item = std::upper_bound(order_.begin(), order_.end(), window.begin_ns,
                               [](double at, const Item& one) { return at < one.end_ns; });
  // A clock that is a little late lets an activity end behind the call that waited for it.
  constexpr double kBehindNs = 10'000;
  for (; item != order_.end() && item->end_ns <= window.end_ns + kBehindNs; ++item) {
    if (item->thread < 0)
      run_activity(item->number);
    else
      run_call(item->thread, item->number);
  }
  const double end_ns = end.activity != kNoActivity ? end_of(end.activity) : time_of(end.thread, window.end_ns);
  return end_ns - window.begin_ns;
}

// What ended before the stretch has ended when it did.
double PathReplay::begin_of(std::int32_t thread, std::size_t call) const {
  const std::vector<HostCall>& calls = graph_.host.threads[static_cast<std::size_t>(thread)].calls;
  if (calls[call].begin_ns <= begin_ns_) return calls[call].begin_ns;
  if (call == 0 || calls[call - 1].end_ns <= begin_ns_)
    return begin_ns_ + (calls[call].begin_ns - begin_ns_) * factor(PathClass::kCpu);
  return call_end_[static_cast<std::size_t>(thread)][call - 1] +
         (calls[call].begin_ns - calls[call - 1].end_ns) * factor(PathClass::kCpu);
}

double PathReplay::time_of(std::int32_t thread, double at_ns) const {
  if (at_ns <= begin_ns_) return at_ns;
  const HostThread& one = graph_.host.threads[static_cast<std::size_t>(thread)];
  const std::ptrdiff_t at = one.call_at(at_ns);
  if (at < 0) return begin_ns_ + (at_ns - begin_ns_) * factor(PathClass::kCpu);
  const auto call = static_cast<std::size_t>(at);
  const double end_ns = one.calls[call].end_ns;
  if (end_ns <= begin_ns_) return begin_ns_ + (at_ns - begin_ns_) * factor(PathClass::kCpu);
  if (at_ns >= end_ns)
    return call_end_[static_cast<std::size_t>(thread)][call] + (at_ns - end_ns) * factor(PathClass::kCpu);
  const double since_ns = at_ns - std::max(one.calls[call].begin_ns, begin_ns_);
  return std::max(begin_of(thread, call), begin_ns_) +
         since_ns * factor(one.calls[call].type == HostCallType::kLaunch ? PathClass::kLaunch : PathClass::kCpu);
}

double PathReplay::end_of(std::uint32_t activity) const {
  const double recorded_ns = graph_.device->activities[activity].end_ns;
  return recorded_ns <= begin_ns_ ? recorded_ns : activity_end_[activity];
}

void PathReplay::run_call(std::int32_t thread, std::size_t number) {
  const auto own = static_cast<std::size_t>(thread);
  const HostCall& call = graph_.host.threads[own].calls[number];
  const double begin_ns = std::max(begin_of(thread, number), begin_ns_);
  const double length_ns = call.end_ns - std::max(call.begin_ns, begin_ns_);
  const std::uint32_t ended_by = graph_.sync_activities[own][number];
  double& end_ns = call_end_[own][number];
  if (ended_by != kNoActivity) {
    const double recorded_ns = graph_.device->activities[ended_by].end_ns;
    end_ns = std::max(begin_ns, end_of(ended_by) + std::max(0.0, call.end_ns - recorded_ns) * factor(PathClass::kCpu));
  } else if (call.type == HostCallType::kWait) {
    end_ns =
        std::max(begin_ns, time_of(call.waker, call.post_ns) + (call.end_ns - call.post_ns) * factor(PathClass::kCpu));
  } else {
    end_ns = begin_ns + length_ns * factor(call.type == HostCallType::kLaunch ? PathClass::kLaunch : PathClass::kCpu);
  }
}

void PathReplay::run_activity(std::uint32_t number) {
  const Activity& activity = graph_.device->activities[number];
  const ActivityNode& node = graph_.nodes[number];
  const double length_ns = activity.end_ns - std::max(activity.begin_ns, begin_ns_);
  double begin_ns = begin_ns_;
  double rest_factor = factor(PathClass::kGpuCompute);
  if (node.before != kNoActivity) begin_ns = std::max(begin_ns, end_of(node.before));
  if (node.from_other != kNoActivity) begin_ns = std::max(begin_ns, end_of(node.from_other));
  if (node.launch.thread >= 0) {
    const double launched_ns = begin_of(node.launch.thread, static_cast<std::size_t>(node.launch.call)) +
                               node.lag_ns * factor(PathClass::kLaunch);
    begin_ns = std::max(begin_ns, launched_ns);
  } else if (node.before == kNoActivity && node.from_other == kNoActivity) {
    begin_ns = std::max(begin_ns, time_of(main_, activity.begin_ns));
  }
  if (activity.begin_ns > begin_ns_) begin_ns += node.rest_ns * rest_factor;
  activity_end_[number] = begin_ns + length_ns * factor(class_of(activity));
}

}  // namespace hostprobe::analysis
