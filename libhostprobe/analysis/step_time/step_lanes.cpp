// step_lanes.cpp: see step_lanes.h.
#include "step_lanes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "model/window.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastPart = 0.0025;  // of the step: two pixels of a wide screen
constexpr std::size_t kMostRanks = 8, kMostThreads = 8, kMostSpans = 80, kMostWakes = 60;

// What of a time lies in the step.
class StepView {
 public:
  explicit StepView(const Window& step) : step_(step) {}

  const Window& step() const { return step_; }
  double least_ns() const { return kLeastPart * step_.length_ns(); }
  // Of a window, since the step's begin.
  Window inside(const Window& window) const {
    return {std::max(window.begin_ns, step_.begin_ns) - step_.begin_ns,
            std::min(window.end_ns, step_.end_ns) - step_.begin_ns};
  }

 private:
  const Window step_;
};

// The longest ones, by time.
void keep_longest(std::vector<LaneSpan>& spans) {
  const auto is_longer = [](const LaneSpan& l, const LaneSpan& r) { return l.ns > r.ns; };
  if (spans.size() > kMostSpans) {
    std::stable_sort(spans.begin(), spans.end(), is_longer);
    spans.resize(kMostSpans);
  }
  std::stable_sort(spans.begin(), spans.end(), [](const LaneSpan& l, const LaneSpan& r) { return l.at_ns < r.at_ns; });
}

// Spans of one kind that nearly touch are one: a step has thousands of kernels.
void add_joined(const LaneSpan& span, double nearly_ns, std::vector<LaneSpan>& spans) {
  if (!spans.empty()) {
    LaneSpan& last = spans.back();
    const bool is_same = last.cause == span.cause && last.work == span.work && last.function == span.function;
    if (is_same && span.at_ns - (last.at_ns + last.ns) <= nearly_ns) {
      last.ns = std::max(last.ns, span.at_ns + span.ns - last.at_ns);
      return;
    }
  }
  spans.push_back(span);
}

// Others wait all the time, unless the rank's time was lost to them.
bool is_worth_a_lane(Role role) {
  return role == Role::kMain || role == Role::kAutograd || role == Role::kNcclProgress || role == Role::kPinMemory ||
         role == Role::kDataloader || role == Role::kGloo;
}

class Lanes {
 public:
  Lanes(const JobGraph& job, const std::vector<StepTimeMember>& members, const Window& step,
        const std::vector<std::vector<LostPart>>& parts)
      : job_(job), members_(members), parts_(parts), view_(step) {}

  StepLanes made() {
    const std::vector<std::uint32_t> shown = shown_ranks();
    lanes_.length_ns = view_.step().length_ns();
    lanes_.least_ns = view_.least_ns();
    lanes_.ranks_left_out = static_cast<std::uint32_t>(members_.size() - shown.size());
    for (const std::uint32_t member : shown) {
      add_causes(member);
      for (const HostThread* thread : shown_threads(member)) add_thread(member, *thread);
      add_gpu(member);
    }
    for (const std::uint32_t member : shown) add_arrivals(member);
    for (const std::uint32_t member : shown) add_wakes(member);
    if (lanes_.wakes.size() > kMostWakes) lanes_.wakes.resize(kMostWakes);
    return std::move(lanes_);
  }

 private:
  // Of many those on which most of the step was lost, in their order.
  std::vector<std::uint32_t> shown_ranks() const {
    std::vector<double> lost_ns(members_.size());
    for (const std::vector<LostPart>& rank : parts_)
      for (const LostPart& part : rank)
        if (reported_cause(part.cause) != Cause::kGpuBound && part.member < lost_ns.size())
          lost_ns[part.member] += part.ns;
    std::vector<std::uint32_t> shown(members_.size());
    for (std::uint32_t i = 0; i < shown.size(); ++i) shown[i] = i;
    if (shown.size() <= kMostRanks) return shown;
    std::stable_sort(shown.begin(), shown.end(),
                     [&](std::uint32_t l, std::uint32_t r) { return lost_ns[l] > lost_ns[r]; });
    shown.resize(kMostRanks);
    std::sort(shown.begin(), shown.end());
    return shown;
  }

  const HostThread* step_thread(std::uint32_t member) const {
    const std::int32_t number = members_[member].thread;
    return number < 0 ? nullptr : &job_.parts[member].host.threads[static_cast<std::size_t>(number)];
  }

  // The one that makes the steps, then those that the rank's time was lost to, then who was in calls.
  std::vector<const HostThread*> shown_threads(std::uint32_t member) const {
    std::map<const HostThread*, double> weight;
    for (const HostThread& thread : job_.parts[member].host.threads)
      if (is_shown(member, thread)) weight[&thread] = 0;
    for (const LostPart& part : parts_[member])
      for (const HostThread* thread : {part.spot.thread, part.spot.holder})
        if (const auto found = weight.find(thread); found != weight.end()) found->second += part.ns;
    std::vector<const HostThread*> threads;
    for (const auto& [thread, ns] : weight) threads.push_back(thread);
    const HostThread* first = step_thread(member);
    std::sort(threads.begin(), threads.end(), [&](const HostThread* l, const HostThread* r) {
      return std::tuple(l != first, -weight.at(l), !makes_samples(*l), l) <
             std::tuple(r != first, -weight.at(r), !makes_samples(*r), r);
    });
    if (threads.size() > kMostThreads) threads.resize(kMostThreads);
    return threads;
  }
  bool is_shown(std::uint32_t member, const HostThread& thread) const {
    if (thread.track == nullptr) return false;
    const auto is_of = [&](const LostPart& part) { return part.spot.thread == &thread || part.spot.holder == &thread; };
    if (std::any_of(parts_[member].begin(), parts_[member].end(), is_of)) return true;
    return makes_samples(thread) || (has_calls(thread) && is_worth_a_lane(thread.track->role));
  }
  // Of a loader's worker; it may compute all the time, in no call.
  static bool makes_samples(const HostThread& thread) {
    return thread.process != 0 && (thread.track->role == Role::kMain || thread.track->role == Role::kDataloader);
  }
  bool has_calls(const HostThread& thread) const {
    const std::ptrdiff_t last = thread.call_at(view_.step().end_ns);
    return last >= 0 && thread.calls[static_cast<std::size_t>(last)].end_ns > view_.step().begin_ns;
  }

  void keep_shown(std::vector<LaneSpan>& spans) const {
    std::erase_if(spans, [this](const LaneSpan& span) { return span.ns < view_.least_ns() / 2; });
    keep_longest(spans);
  }

  StepLane& add_lane(LaneKind kind, std::uint32_t member, std::string title) {
    const ProcessAnswer* process = members_[member].answer;
    lanes_.lanes.push_back({.kind = kind,
                            .member = member,
                            .pid = process == nullptr ? 0 : process->pid,
                            .title = std::move(title),
                            .spans = {}});
    return lanes_.lanes.back();
  }

  // Parts of one stretch divide it: they stand one behind the other there. Each column of the drawing has the cause of most of it.
  void add_causes(std::uint32_t member) {
    StepLane& lane = add_lane(LaneKind::kRank, member, "");
    std::vector<std::map<Cause, double>> columns(static_cast<std::size_t>(1 / kLeastPart));
    std::vector<std::pair<Window, const LostPart*>> parts;
    for (const LostPart& part : parts_[member]) parts.emplace_back(part.stretch(), &part);
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& l, const auto& r) { return l.first.begin_ns < r.first.begin_ns; });
    double at_ns = 0, stretch_ns = -1e300;
    for (const auto& [stretch, part] : parts) {
      if (stretch.begin_ns != stretch_ns) at_ns = stretch_ns = stretch.begin_ns;
      const double begin_ns = at_ns - view_.step().begin_ns;
      at_ns += part->ns;
      add_to_columns({begin_ns, begin_ns + part->ns}, reported_cause(part->cause), columns);
    }
    const double column_ns = view_.step().length_ns() / static_cast<double>(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto most = heaviest(columns[i]);
      if (!most) continue;
      const LaneSpan span{.at_ns = static_cast<double>(i) * column_ns, .ns = column_ns, .cause = most};
      add_joined(span, column_ns / 2, lane.spans);
    }
    keep_longest(lane.spans);
  }
  void add_to_columns(const Window& since_begin, Cause cause, std::vector<std::map<Cause, double>>& columns) const {
    const double column_ns = view_.step().length_ns() / static_cast<double>(columns.size());
    auto column = static_cast<std::size_t>(std::max(0.0, since_begin.begin_ns / column_ns));
    for (; column < columns.size(); ++column) {
      const double begin_ns = static_cast<double>(column) * column_ns;
      if (begin_ns >= since_begin.end_ns) return;
      columns[column][cause] += inside_ns(since_begin, {begin_ns, begin_ns + column_ns});
    }
  }
  static std::optional<Cause> heaviest(const std::map<Cause, double>& ns) {
    const auto most =
        std::max_element(ns.begin(), ns.end(), [](const auto& l, const auto& r) { return l.second < r.second; });
    return most == ns.end() || most->second <= 0 ? std::nullopt : std::optional(most->first);
  }

  // What most of that call was lost to; nothing: nobody waited for it.
  std::optional<Cause> cause_of(std::uint32_t member, const HostCall& call) const {
    std::map<Cause, double> ns;
    for (const LostPart& part : parts_[member]) {
      const bool is_of_call = part.spot.call == &call || part.spot.holder_call == &call || part.spot.held_up == &call;
      if (is_of_call) ns[reported_cause(part.cause)] += part.ns;
    }
    if (ns.empty() && call.type != HostCallType::kLaunch)
      for (const LostPart& part : parts_[member])
        if (part.spot.thread != nullptr && part.spot.thread == step_thread(member))
          ns[reported_cause(part.cause)] += inside_ns(part.stretch(), {call.begin_ns, call.end_ns});
    return heaviest(ns);
  }

  void add_thread(std::uint32_t member, const HostThread& thread) {
    const ProcessAnswer* process = members_[member].process_of(thread).answer;
    StepLane& lane = add_lane(LaneKind::kThread, member, title_of(process, thread));
    if (process != nullptr) lane.pid = process->pid;
    lane.tid = thread.track->key().tid;
    lane_of_[&thread] = static_cast<std::uint32_t>(lanes_.lanes.size() - 1);
    const bool makes_steps = &thread == step_thread(member);
    for (const HostCall& call : thread.calls) {
      if (call.begin_ns >= view_.step().end_ns) break;
      const Window inside = view_.inside({call.begin_ns, call.end_ns});
      if (inside.length_ns() <= 0 || call.function == nullptr) continue;
      LaneSpan span{.at_ns = inside.begin_ns, .ns = inside.length_ns(), .function = call.function->name};
      if (makes_steps) span.cause = cause_of(member, call);
      if (span.ns >= view_.least_ns()) drawn_.insert(&call);
      add_joined(span, view_.least_ns(), lane.spans);
    }
    keep_shown(lane.spans);
  }

  static std::string title_of(const ProcessAnswer* process, const HostThread& thread) {
    if (process == nullptr) return role_name(thread.track->role);
    const ThreadAnswer* main = process->main_thread();
    if (thread.process != 0 && thread.track->role == Role::kMain && main != nullptr && !main->name.empty())
      return main->name;
    return process->thread_title(thread.track->key(), thread.track->role);
  }

  static LaneWork work_of(const ActivityNode& node) {
    return node.unknown ? LaneWork::kUnknown : node.collective ? LaneWork::kTransfer : LaneWork::kCompute;
  }

  void add_gpu(std::uint32_t member) {
    const std::vector<ActivityNode>& nodes = job_.parts[member].nodes;
    if (nodes.empty()) return;
    StepLane& lane = add_lane(LaneKind::kGpu, member, "GPU");
    for (const ActivityNode& node : nodes) {
      const Window inside = view_.inside({node.begin_ns, node.end_ns});
      if (inside.length_ns() <= 0) continue;
      const LaneSpan span{.at_ns = inside.begin_ns, .ns = inside.length_ns(), .work = work_of(node)};
      add_joined(span, view_.least_ns() / 4, lane.spans);
    }
    keep_shown(lane.spans);
  }

  // Of waits that are drawn: who ended them.
  void add_wakes(std::uint32_t member) {
    const std::vector<HostThread>& threads = job_.parts[member].host.threads;
    for (const HostThread& thread : threads) {
      const auto to = lane_of_.find(&thread);
      if (to == lane_of_.end()) continue;
      for (const HostCall& call : thread.calls) {
        if (!drawn_.contains(&call) || call.type != HostCallType::kWait || call.waker < 0) continue;
        const auto from = lane_of_.find(&threads[static_cast<std::size_t>(call.waker)]);
        if (from == lane_of_.end() || from->second == to->second) continue;
        add_wake(from->second, to->second, call.post_ns);
      }
    }
  }

  // Where the wait for another rank ends, that one has come.
  void add_arrivals(std::uint32_t member) {
    std::map<std::uint32_t, double> ends_ns;  // by rank
    for (const LostPart& part : parts_[member])
      if (part.waits && part.member != member && part.ns >= view_.least_ns())
        ends_ns[part.member] = std::max(ends_ns[part.member], part.window.end_ns);
    for (const auto& [other, at_ns] : ends_ns) {
      const auto from = lane_of_.find(step_thread(other)), to = lane_of_.find(step_thread(member));
      if (from != lane_of_.end() && to != lane_of_.end()) add_wake(from->second, to->second, at_ns);
    }
  }

  void add_wake(std::uint32_t from, std::uint32_t to, double at_ns) {
    if (at_ns >= view_.step().begin_ns && at_ns <= view_.step().end_ns)
      lanes_.wakes.push_back({from, to, at_ns - view_.step().begin_ns});
  }

  const JobGraph& job_;
  const std::vector<StepTimeMember>& members_;
  const std::vector<std::vector<LostPart>>& parts_;
  const StepView view_;
  StepLanes lanes_;
  std::map<const HostThread*, std::uint32_t> lane_of_;
  std::set<const HostCall*> drawn_;
};

}  // namespace

StepLanes step_lanes(const JobGraph& job, const std::vector<StepTimeMember>& members, const Window& step,
                     const std::vector<std::vector<LostPart>>& parts) {
  return Lanes(job, members, step, parts).made();
}

}  // namespace hostprobe::analysis
