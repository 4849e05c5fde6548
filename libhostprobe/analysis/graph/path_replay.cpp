// path_replay.cpp: see path_replay.h.
#include "path_replay.h"

#include <algorithm>
#include <utility>

namespace hostprobe::analysis {
namespace {

constexpr double kPinnedCallNs = 5000;  // a call that copies from pinned memory comes back at once, as a launch does

}  // namespace

PathReplay::PathReplay(const JobGraph& job, std::vector<WaitSlopes> slopes) : job_(job), slopes_(std::move(slopes)) {
  std::size_t all = 0;
  for (const PathGraph& graph : job.parts) {
    Part part;
    for (const HostThread& one : graph.host.threads) {
      part.calls.push_back(all);
      all += one.calls.size();
    }
    part.begins = all;
    part.ends = all + graph.nodes.size();
    all += 2 * graph.nodes.size();
    places_.push_back(std::move(part));
  }
  arrivals_ = all;
  all += job.operations.size();
  values_.resize(all);
  state_.resize(all);
}

PathReplay::Item PathReplay::placed(Item item) const {
  const auto in_part = [&](std::size_t Part::*first) { return places_[item.part].*first + item.number; };
  switch (item.kind) {
    case Kind::kCall:
      item.place = places_[item.part].calls[static_cast<std::size_t>(item.thread)] + item.number;
      break;
    case Kind::kBegin:
      item.place = in_part(&Part::begins);
      break;
    case Kind::kEnd:
      item.place = in_part(&Part::ends);
      break;
    case Kind::kArrival:
      item.place = arrivals_ + item.number;
      break;
  }
  return item;
}

// What ended before the stretch has ended when it did, and needs nothing.
template <typename OnItem>
void PathReplay::needs_of_begin(std::uint32_t part, std::int32_t own, std::size_t call, OnItem on_item) const {
  const std::vector<HostCall>& calls = thread(part, own).calls;
  if (calls[call].begin_ns <= begin_ns_ || call == 0 || calls[call - 1].end_ns <= begin_ns_) return;
  on_item(placed({Kind::kCall, part, own, static_cast<std::uint32_t>(call - 1)}));
}

template <typename OnItem>
void PathReplay::needs_of_time(std::uint32_t part, std::int32_t own, double at_ns, OnItem on_item) const {
  const std::ptrdiff_t at = thread(part, own).call_at(at_ns);
  if (at_ns <= begin_ns_ || at < 0) return;
  const double end_ns = thread(part, own).calls[static_cast<std::size_t>(at)].end_ns;
  if (end_ns <= begin_ns_) return;
  if (at_ns >= end_ns)
    on_item(placed({Kind::kCall, part, own, static_cast<std::uint32_t>(at)}));
  else
    needs_of_begin(part, own, static_cast<std::size_t>(at), on_item);
}

template <typename OnItem>
void PathReplay::for_each_need(const Item& item, OnItem on_item) const {
  const PathGraph& graph = job_.parts[item.part];
  const auto end = [&](std::uint32_t activity) {
    if (activity != kNoActivity && graph.nodes[activity].end_ns > begin_ns_)
      on_item(placed({Kind::kEnd, item.part, -1, activity}));
  };
  if (item.kind == Kind::kCall) {
    const HostCall& call = thread(item.part, item.thread).calls[item.number];
    needs_of_begin(item.part, item.thread, item.number, on_item);
    const std::uint32_t ended_by = graph.sync_activities[static_cast<std::size_t>(item.thread)][item.number];
    end(ended_by);
    end(graph.done_before(item.thread, item.number));
    if (ended_by == kNoActivity && call.type == HostCallType::kWait)
      needs_of_time(item.part, call.waker, call.post_ns, on_item);
  } else if (item.kind == Kind::kBegin) {
    const ActivityNode& node = graph.nodes[item.number];
    if (node.begin_ns <= begin_ns_) return;
    end(node.before);
    end(node.from_other);
    if (node.launch.thread >= 0)
      needs_of_begin(item.part, node.launch.thread, static_cast<std::size_t>(node.launch.call), on_item);
    else if (node.before == kNoActivity && node.from_other == kNoActivity && !node.launched_before)
      needs_of_time(item.part, graph.main, node.begin_ns, on_item);
  } else if (item.kind == Kind::kEnd) {
    const ActivityNode& node = graph.nodes[item.number];
    on_item(placed({Kind::kBegin, item.part, -1, item.number}));
    for (std::uint16_t i = 0; i < node.waits; ++i)
      on_item(placed({Kind::kArrival, item.part, -1, graph.waits[node.first_wait + i]}));
  } else {
    for (const PathPlace& place : job_.operations[item.number].arrivals)
      on_item(placed({Kind::kBegin, place.part, -1, place.activity}));
  }
}

void PathReplay::enter(double begin_ns, std::vector<PathEnds> steps) {
  begin_ns_ = begin_ns;
  steps_ = std::move(steps);
  order_.clear();
  stretch_ += 2;
  last_syncs_ns_.assign(job_.parts.size(), {});
  const auto add = [this](const Item& item) { order(item); };
  for (const PathEnds& ends : steps_)
    for (const PathEnd& end : ends) {
      if (end.activity == kNoActivity && end.thread >= 0) last_syncs_ns_[end.part].push_back(last_sync(end));
      if (end.activity != kNoActivity)
        add(placed({Kind::kEnd, end.part, -1, end.activity}));
      else
        needs_of_time(end.part, end.thread, end.at_ns, add);
      if (const std::ptrdiff_t call = wait_at(end); call >= 0)
        add(placed({Kind::kCall, end.part, end.thread, static_cast<std::uint32_t>(call)}));
    }
}

// The call in which the thread waits where the step ends, as where another rank ended it; -1: none.
std::ptrdiff_t PathReplay::wait_at(const PathEnd& end) const {
  if (end.activity != kNoActivity || end.thread < 0 || end.at_ns <= begin_ns_) return -1;
  const HostThread& own = thread(end.part, end.thread);
  const std::ptrdiff_t at = own.call_at(end.at_ns);
  if (at < 0) return -1;
  const HostCall& call = own.calls[static_cast<std::size_t>(at)];
  const bool waits = call.type == HostCallType::kSynchronise || call.type == HostCallType::kWait;
  return waits && call.end_ns > end.at_ns ? at : -1;
}

// A step that ends in a wait is over when the wait is, at the latest: less of a wait is no time of the thread's own.
double PathReplay::end_ns(const PathEnd& end) const {
  if (end.activity != kNoActivity) return end_of(end.part, end.activity);
  const double at_ns = time_of(end.part, end.thread, end.at_ns);
  const std::ptrdiff_t call = wait_at(end);
  return call < 0 ? at_ns : std::min(at_ns, call_end(end.part, end.thread, static_cast<std::size_t>(call)));
}

// The end of the last wait for the GPU before it.
double PathReplay::last_sync(const PathEnd& end) const {
  const HostThread& own = thread(end.part, end.thread);
  for (std::ptrdiff_t i = own.call_at(end.at_ns); i >= 0; --i) {
    const HostCall& call = own.calls[static_cast<std::size_t>(i)];
    if (call.type == HostCallType::kSynchronise) return call.end_ns;
  }
  return -1e300;
}

// Each behind all that it needs. Where clocks contradict each other, and one would need itself, it is not asked for.
void PathReplay::order(const Item& last) {
  stack_.assign(1, last);
  while (!stack_.empty()) {
    const Item item = stack_.back();
    std::uint32_t& state = state_[item.place];
    if (state < stretch_) {
      state = stretch_;
      for_each_need(item, [this](const Item& need) {
        if (state_[need.place] < stretch_) stack_.push_back(need);
      });
      continue;
    }
    stack_.pop_back();
    if (state == stretch_) {
      state = stretch_ + 1;
      order_.push_back(item);
    }
  }
}

double PathReplay::run(const Factors& factors, const ReplayCuts& cuts) {
  factors_ = factors;
  cuts_ = &cuts;
  for (const Item& item : order_) values_[item.place] = begin_ns_;
  for (const Item& item : order_) {
    double& value = values_[item.place];
    switch (item.kind) {
      case Kind::kCall:
        value = value_of_call(item);
        break;
      case Kind::kBegin:
        value = value_of_begin(item);
        break;
      case Kind::kEnd:
        value = value_of_end(item);
        break;
      case Kind::kArrival:
        value = value_of_arrival(item);
        break;
    }
  }
  return steps_.empty() ? 0 : ended_after_ns(steps_.size() - 1);
}

double PathReplay::ended_after_ns(std::size_t step) const {
  double last_ns = begin_ns_;
  for (const PathEnd& end : steps_[step]) last_ns = std::max(last_ns, end_ns(end));
  return last_ns - begin_ns_;
}

double PathReplay::call_end(std::uint32_t part, std::int32_t own, std::size_t call) const {
  return values_[places_[part].calls[static_cast<std::size_t>(own)] + call];
}

double PathReplay::begin_of(std::uint32_t part, std::int32_t own, std::size_t call) const {
  const std::vector<HostCall>& calls = thread(part, own).calls;
  if (calls[call].begin_ns <= begin_ns_) return calls[call].begin_ns;
  if (call == 0 || calls[call - 1].end_ns <= begin_ns_)
    return begin_ns_ + taken(part, own, begin_ns_, calls[call].begin_ns, PathClass::kCpu);
  return call_end(part, own, call - 1) +
         taken(part, own, calls[call - 1].end_ns, calls[call].begin_ns, PathClass::kCpu);
}

double PathReplay::time_of(std::uint32_t part, std::int32_t own, double at_ns) const {
  if (at_ns <= begin_ns_) return at_ns;
  const HostThread& one = thread(part, own);
  const std::ptrdiff_t at = one.call_at(at_ns);
  if (at < 0) return begin_ns_ + taken(part, own, begin_ns_, at_ns, PathClass::kCpu);
  const auto call = static_cast<std::size_t>(at);
  const double end_ns = one.calls[call].end_ns;
  if (end_ns <= begin_ns_) return begin_ns_ + taken(part, own, begin_ns_, at_ns, PathClass::kCpu);
  if (at_ns >= end_ns) return call_end(part, own, call) + taken(part, own, end_ns, at_ns, PathClass::kCpu);
  const PathClass kind = one.calls[call].type == HostCallType::kLaunch ? PathClass::kLaunch : PathClass::kCpu;
  return std::max(begin_of(part, own, call), begin_ns_) +
         taken(part, own, std::max(one.calls[call].begin_ns, begin_ns_), at_ns, kind);
}

double PathReplay::end_of(std::uint32_t part, std::uint32_t activity) const {
  const double recorded_ns = job_.parts[part].nodes[activity].end_ns;
  return recorded_ns <= begin_ns_ ? recorded_ns : values_[places_[part].ends + activity];
}

double PathReplay::gpu_factor(std::uint32_t part, const ActivityNode& node) const {
  if (node.collective) return cuts_->transfer_factor * transfer_factor(part, node);
  if (node.blocks) return 1;
  const auto found = cuts_->gpu_factors.find(part);
  return found == cuts_->gpu_factors.end() ? 1 : found->second;
}

double PathReplay::transfer_factor(std::uint32_t part, const ActivityNode& node) const {
  if (cuts_->transfer_factors.empty() || node.waits != 1) return 1;
  const std::uint32_t transfer = job_.operations[job_.parts[part].waits[node.first_wait]].transfer;
  return transfer == kNoTransfer ? 1 : cuts_->transfer_factors[transfer];
}

// Of a wait that begins then. A thread that works at its own pace is where its own time has come to; one that reacts takes as long as it
// did, but for what is left out of its time or of the wait itself.
double PathReplay::posted_ns(const Item& item, const HostCall& call, double begin_ns) const {
  const double slope = slopes_[item.part].of(item.thread, call.waker), from_ns = std::max(call.begin_ns, begin_ns_);
  const double left_out_ns = cuts_->inside_ns(item.part, item.thread, from_ns, call.post_ns);
  const double paced_ns = std::max(time_of(item.part, call.waker, call.post_ns), begin_ns_);
  const double reacts_ns = begin_ns + std::max(0.0, call.post_ns - from_ns - left_out_ns -
                                                        cuts_->inside_ns(item.part, call.waker, from_ns, call.post_ns));
  return (1 - slope) * (paced_ns - left_out_ns) + slope * reacts_ns;
}

double PathReplay::value_of_call(const Item& item) const {
  const PathGraph& graph = job_.parts[item.part];
  const HostCall& call = thread(item.part, item.thread).calls[item.number];
  const double begin_ns = std::max(begin_of(item.part, item.thread, item.number), begin_ns_);
  const auto since = [&](double from_ns, PathClass one) {
    return taken(item.part, item.thread, std::max(from_ns, begin_ns_), call.end_ns, one);
  };
  const std::uint32_t ended_by = graph.sync_activities[static_cast<std::size_t>(item.thread)][item.number];
  if (cuts_->without_syncs && call.type == HostCallType::kSynchronise && !last_syncs_ns_[item.part].empty() &&
      call.end_ns <= last_syncs_ns_[item.part].back())
    return is_last_sync(item, call) ? std::max(begin_ns, awaited_by_syncs(item)) : begin_ns;
  if (ended_by != kNoActivity && graph.nodes[ended_by].blocks && cuts_->from_pinned)
    return begin_ns + std::min(kPinnedCallNs, since(call.begin_ns, PathClass::kLaunch));
  if (ended_by != kNoActivity)
    return std::max(begin_ns, std::max(end_of(item.part, ended_by), begin_ns_) +
                                  since(graph.nodes[ended_by].end_ns, PathClass::kCpu));
  if (const std::uint32_t done = graph.done_before(item.thread, item.number); done != kNoActivity) {
    const double early_ns = std::max(0.0, graph.nodes[done].end_ns - call.begin_ns);
    return std::max(begin_ns, end_of(item.part, done) - early_ns) + since(call.begin_ns, PathClass::kCpu);
  }
  if (call.type == HostCallType::kWait) {
    if (cuts_->answered.contains(&call)) return begin_ns + since(call.post_ns, PathClass::kCpu);
    return std::max(begin_ns, posted_ns(item, call, begin_ns) + since(call.post_ns, PathClass::kCpu));
  }
  return begin_ns + since(call.begin_ns, call.type == HostCallType::kLaunch ? PathClass::kLaunch : PathClass::kCpu);
}

// Of its step: there the host has to know that the GPU has done what the step gave it.
bool PathReplay::is_last_sync(const Item& item, const HostCall& call) const {
  const std::vector<double>& last_ns = last_syncs_ns_[item.part];
  return std::binary_search(last_ns.begin(), last_ns.end(), call.end_ns);
}

// The end of all for which that call, or one before it in its step, waited.
double PathReplay::awaited_by_syncs(const Item& item) const {
  const auto own = static_cast<std::size_t>(item.thread);
  const std::vector<HostCall>& calls = thread(item.part, item.thread).calls;
  const std::vector<double>& last_ns = last_syncs_ns_[item.part];
  const auto last = std::lower_bound(last_ns.begin(), last_ns.end(), calls[item.number].end_ns);
  const double since_ns = last == last_ns.begin() ? begin_ns_ : std::max(begin_ns_, last[-1]);
  double end_ns = begin_ns_;
  for (std::size_t i = item.number + 1; i-- > 0;) {
    if (calls[i].end_ns <= since_ns) break;
    const std::uint32_t ended_by = job_.parts[item.part].sync_activities[own][i];
    if (ended_by != kNoActivity) end_ns = std::max(end_ns, end_of(item.part, ended_by));
  }
  return end_ns;
}

// From the begin of its launch. A thread may have stood still within the call, before the GPU could learn of it.
double PathReplay::lag_ns(std::uint32_t part, const ActivityNode& node) const {
  const HostCall& call = thread(part, node.launch.thread).calls[static_cast<std::size_t>(node.launch.call)];
  const double end_ns = std::min(call.end_ns, call.begin_ns + node.lag_ns);
  return node.lag_ns - cuts_->inside_ns(part, node.launch.thread, call.begin_ns, end_ns);
}

double PathReplay::value_of_begin(const Item& item) const {
  const PathGraph& graph = job_.parts[item.part];
  const ActivityNode& node = graph.nodes[item.number];
  double begin_ns = begin_ns_;
  if (node.begin_ns <= begin_ns) return begin_ns;
  if (node.before != kNoActivity) begin_ns = std::max(begin_ns, end_of(item.part, node.before));
  if (node.from_other != kNoActivity) begin_ns = std::max(begin_ns, end_of(item.part, node.from_other));
  if (node.launch.thread >= 0) {
    const double launched_ns = begin_of(item.part, node.launch.thread, static_cast<std::size_t>(node.launch.call)) +
                               lag_ns(item.part, node) * factor(PathClass::kLaunch);
    begin_ns = std::max(begin_ns, launched_ns);
  } else if (node.before == kNoActivity && node.from_other == kNoActivity) {
    begin_ns =
        node.launched_before
            ? std::max(begin_ns, begin_ns_ + (node.begin_ns - node.rest_ns - begin_ns_) * factor(PathClass::kLaunch))
            : std::max(begin_ns, time_of(item.part, graph.main, node.begin_ns));
  }
  const double cut_ns = cuts_->inside_ns(item.part, kGpuCuts, node.begin_ns - node.rest_ns, node.begin_ns);
  return begin_ns + (node.rest_ns - cut_ns) * factor(PathClass::kGpuCompute);
}

double PathReplay::value_of_end(const Item& item) const {
  const ActivityNode& node = job_.parts[item.part].nodes[item.number];
  double ready_ns = values_[places_[item.part].begins + item.number];
  double since_ns = std::max(node.begin_ns, begin_ns_);
  for (std::uint16_t i = 0; i < node.waits; ++i) {
    const std::uint32_t operation = job_.parts[item.part].waits[node.first_wait + i];
    // Clocks of hosts may let one end before the last arrival.
    const double last_ns = job_.operations[operation].last_ns, early_ns = std::max(0.0, last_ns - node.end_ns);
    ready_ns = std::max(ready_ns, values_[arrivals_ + operation] - early_ns);
    since_ns = std::max(since_ns, last_ns - early_ns);
  }
  double length_ns = node.end_ns - since_ns;
  if (node.blocks && cuts_->from_pinned) length_ns = std::min<double>(length_ns, node.pinned_ns);
  if (node.collective) length_ns -= cuts_->inside_ns(item.part, kGpuCuts, since_ns, node.end_ns);
  return ready_ns + length_ns * factor(class_of(node)) * gpu_factor(item.part, node);
}

double PathReplay::value_of_arrival(const Item& item) const {
  double last_ns = begin_ns_;
  for (const PathPlace& place : job_.operations[item.number].arrivals)
    last_ns = std::max(last_ns, values_[places_[place.part].begins + place.activity]);
  return last_ns;
}

}  // namespace hostprobe::analysis
