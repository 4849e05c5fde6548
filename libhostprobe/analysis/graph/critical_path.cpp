// critical_path.cpp: see critical_path.h.
#include "critical_path.h"

#include <algorithm>
#include <cmath>

#include "analysis/graph/path_replay.h"
#include "model/activity.h"
#include "model/timeline.h"
#include "step_sample.h"

namespace hostprobe::analysis {
namespace {

// From the end of a stretch backwards, always along what ended last: the others had time to spare.
class Walk {
 public:
  Walk(const JobGraph& job, double begin_ns, const PathEnd& end)
      : job_(job),
        begin_ns_(begin_ns),
        at_ns_(end.at_ns),
        at_{end.part, end.activity},
        thread_(end.thread),
        shares_(job.parts.size()) {
    for (const PathGraph& graph : job.parts) most_standing_ += graph.nodes.size();
  }

  void run(PathStretch& stretch) {
    std::size_t standing = 0;
    while (at_ns_ > begin_ns_) {
      const double before_ns = at_ns_;
      if (at_.activity != kNoActivity)
        leave_activity();
      else
        leave_thread();
      standing = at_ns_ < before_ns ? 0 : standing + 1;
      if (standing > most_standing_) take(PathClass::kCpu, begin_ns_);  // damaged times only
    }
    stretch.known = known_;
    for (const PathShares& one : shares_)
      for (std::size_t i = 0; i < kPathClasses; ++i) stretch.path.share_ns[i] += one[i];
    stretch.share_ns = std::move(shares_);
  }

 private:
  const PathGraph& graph() const { return job_.parts[at_.part]; }
  double end_of(std::uint32_t number) const { return graph().nodes[number].end_ns; }

  void take(PathClass one, double until_ns) {
    const double to_ns = std::min(at_ns_, std::max(until_ns, begin_ns_));
    shares_[at_.part][static_cast<std::size_t>(one)] += at_ns_ - to_ns;
    at_ns_ = to_ns;
  }

  void leave_thread() {
    const HostThread& thread = graph().host.threads[static_cast<std::size_t>(thread_)];
    std::ptrdiff_t at = thread.call_at(at_ns_);
    if (at >= 0 && thread.calls[static_cast<std::size_t>(at)].begin_ns >= at_ns_) --at;
    if (at < 0) return take(PathClass::kCpu, begin_ns_);
    const HostCall& call = thread.calls[static_cast<std::size_t>(at)];
    if (call.end_ns < at_ns_) return take(PathClass::kCpu, call.end_ns);
    const std::uint32_t ended_by =
        graph().sync_activities[static_cast<std::size_t>(thread_)][static_cast<std::size_t>(at)];
    if (ended_by != kNoActivity) {
      take(PathClass::kCpu, end_of(ended_by));
      at_.activity = ended_by;
    } else if (call.type == HostCallType::kWait && call.post_ns < at_ns_) {
      take(PathClass::kCpu, call.post_ns);
      thread_ = call.waker;
    } else {
      take(call.type == HostCallType::kLaunch ? PathClass::kLaunch : PathClass::kCpu, call.begin_ns);
    }
  }

  void leave_activity() {
    const ActivityNode& node = job_.node(at_);
    if (node.collective && job_.joined && !node.joined) known_ = false;
    if (const PathOperation* operation = job_.awaited(at_)) {
      if (operation->last_ns > begin_ns_ && operation->last_ns < at_ns_) return cross_over(*operation);
    }
    take(class_of(node), node.begin_ns);
    std::uint32_t other = node.before;
    if (node.from_other != kNoActivity && (other == kNoActivity || end_of(node.from_other) > end_of(other)))
      other = node.from_other;
    const bool launched = node.launch.thread >= 0;
    const double launch_ns = launched ? graph().call(node.launch).begin_ns : 0;
    if (other != kNoActivity && (!launched || end_of(other) >= launch_ns + node.lag_ns)) {
      take(PathClass::kGpuCompute, end_of(other));
      at_.activity = other;
      return;
    }
    if (node.launched_before) return take(PathClass::kLaunch, begin_ns_);
    at_.activity = kNoActivity;
    thread_ = launched ? node.launch.thread : graph().main;
    if (launched) take(PathClass::kLaunch, launch_ns);
  }

  // To the rank that came last.
  void cross_over(const PathOperation& operation) {
    take(PathClass::kCommunication, operation.last_ns);
    if (operation.last.activity == kNoActivity) {
      known_ = false;
      return take(PathClass::kCommunication, begin_ns_);
    }
    at_ = operation.last;
  }

  const JobGraph& job_;
  const double begin_ns_;
  double at_ns_;
  PathPlace at_;
  std::int32_t thread_;
  std::vector<PathShares> shares_;
  std::size_t most_standing_ = 64;
  bool known_ = true;
};

}  // namespace

const PathOperation* JobGraph::awaited(const PathPlace& place) const {
  const ActivityNode& own = node(place);
  const PathOperation* longest = nullptr;
  for (std::uint16_t i = 0; i < own.waits; ++i) {
    const PathOperation& one = operations[parts[place.part].waits[own.first_wait + i]];
    if (one.last_ns > own.begin_ns && (longest == nullptr || one.last_ns > longest->last_ns)) longest = &one;
  }
  return longest;
}

PathStretch answer_stretch(const JobGraph& job, PathReplay* replay, double begin_ns, const PathEnds& ends) {
  const auto last =
      std::max_element(ends.begin(), ends.end(), [](const PathEnd& l, const PathEnd& r) { return l.at_ns < r.at_ns; });
  PathStretch stretch;
  if (last == ends.end() || last->at_ns <= begin_ns) return stretch;
  stretch.path.stretches = 1;
  stretch.path.length_ns = last->at_ns - begin_ns;
  Walk(job, begin_ns, *last).run(stretch);
  if (!stretch.known || replay == nullptr) return stretch;
  stretch.path.recorded_ns = stretch.path.length_ns;
  replay->enter(begin_ns, ends);
  PathReplay::Factors factors;
  factors.fill(1);
  stretch.path.replayed_ns = replay->run(factors);
  for (std::size_t i = 0; i < kPathClasses; ++i) {
    factors[i] = 0;
    stretch.path.without_ns[i] = replay->run(factors);
    factors[i] = 1;
  }
  return stretch;
}

PathStretch answer_all(const JobGraph& job, PathReplay& replay) {
  double begin_ns = 1e300;
  PathEnds ends;
  for (std::uint32_t part = 0; part < job.parts.size(); ++part) {
    const PathGraph& graph = job.parts[part];
    const std::vector<HostCall>& calls = graph.host.threads[static_cast<std::size_t>(graph.main)].calls;
    const auto first = std::find_if(calls.begin(), calls.end(),
                                    [](const HostCall& call) { return call.type == HostCallType::kLaunch; });
    begin_ns = std::min(begin_ns, first->begin_ns);
    PathEnd end{part, graph.main, kNoActivity, calls.back().end_ns};
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].end_ns > end.at_ns) end = {part, graph.main, i, graph.nodes[i].end_ns};
    ends.push_back(end);
  }
  return answer_stretch(job, &replay, begin_ns, ends);
}

std::int32_t thread_number(const PathGraph& graph, const Track* track) {
  for (std::size_t i = 0; track != nullptr && i < graph.host.threads.size(); ++i)
    if (graph.host.threads[i].track == track) return static_cast<std::int32_t>(i);
  return -1;
}

namespace {

// Where some of its calls are only in counters it is looked at as a whole, which says whose they are.
std::vector<Window> steps_to_look_at(const Timeline& timeline, const DeviceTimeline& device,
                                     const std::vector<Window>& steps, std::size_t most_events) {
  std::size_t events = device.activities.size();
  for (const Track& track : timeline.tracks()) {
    if (track.thread->summed_only > 0) return steps;
    events += track.thread->kept;
  }
  std::vector<Window> some;
  for (const std::size_t i : spread_over(steps.size(), steps_that_fit(steps, events, most_events)))
    some.push_back(steps[i]);
  return some.empty() ? steps : some;
}

}  // namespace

std::optional<PathAnswer> answer_critical_path(const Timeline& timeline, const DeviceTimeline& device,
                                               const Window& window, const std::vector<Window>& steps,
                                               const Track* thread, std::size_t most_events) {
  if (!device.has_order() || !device.is_whole() || device.activities.empty()) return std::nullopt;
  const std::vector<Window> some = steps_to_look_at(timeline, device, steps, most_events);
  JobGraph job;
  job.parts.push_back(
      make_path_graph(timeline, device, some.size() < steps.size() ? some : std::vector<Window>{window}));
  const PathGraph& graph = job.parts[0];
  const std::int32_t own = thread_number(graph, thread);
  if (!graph.is_whole() || (own >= 0 && !graph.host.threads[static_cast<std::size_t>(own)].whole)) return std::nullopt;
  PathReplay replay(job);
  PathAnswer answer;
  if (some.empty()) answer = answer_all(job, replay).path;
  const std::vector<std::size_t> replayed = spread_over(some.size(), kMostReplayed);
  for (std::size_t i = 0; i < some.size(); ++i) {
    const bool again = std::binary_search(replayed.begin(), replayed.end(), i);
    answer.add(answer_stretch(job, again ? &replay : nullptr, some[i].begin_ns,
                              {{0, own < 0 ? graph.main : own, kNoActivity, some[i].end_ns}})
                   .path);
  }
  if (answer.length_ns <= 0) return std::nullopt;
  return answer;
}

}  // namespace hostprobe::analysis
