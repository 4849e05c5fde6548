// run_path.cpp: see run_path.h.
#include "run_path.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/graph/critical_path.h"
#include "analysis/graph/parallel.h"
#include "analysis/graph/path_operations.h"
#include "analysis/graph/path_replay.h"
#include "analysis/graph/step_sample.h"
#include "analysis/step_time/loader_batches.h"
#include "analysis/step_time/lost_time.h"
#include "analysis/step_time/slow_gpus.h"
#include "analysis/step_time/step_time.h"
#include "answer/process.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

// A step of the job, on the job's axis.
struct JobStep {
  Window window;
  std::vector<double> ends_ns;  // of each member's own
  bool after_others = false;    // between it and the one before were steps that are not looked at
  std::uint64_t number = 0;     // of the member whose steps the job's are, as the next
  std::uint32_t type = 0;
};

// What is kept of a member's GPU beside its graph: all of its activities are much more.
struct Device {
  bool watched = false;    // by somebody
  bool none_lost = false;  // of what was watched
  bool has_order = false;
  KernelDurations kernels = {};

  Device() = default;
  explicit Device(const DeviceTimeline& device)
      : watched(device.source != ActivitySource::kNone), none_lost(device.is_whole()), has_order(device.has_order()) {}
  bool is_whole() const { return watched && none_lost; }
};

class RunPathQuestion {
 public:
  RunPathQuestion(const std::vector<RunPathMember>& members, Symbols& symbols, unsigned cores, std::size_t most_events)
      : members_(members), symbols_(symbols), cores_(cores), most_events_(most_events) {
    const std::uint64_t base_ns = members[0].timeline->trace().clock.monotonic_ns_of(0);
    for (const RunPathMember& member : members) {
      axes_.push_back(axis_of(*member.timeline, member.clock, base_ns));
      auto& axes = worker_axes_.emplace_back();
      for (const RunPathWorker& worker : member.workers)
        axes.push_back(axis_of(*worker.timeline, member.clock, base_ns));
    }
    for (const RunPathMember& member : members) {
      auto& numbers = numbers_.emplace_back();
      for (const Step& step : member.answer->steps.steps)
        if (const auto [at, is_new] = numbers.try_emplace(step.number, &step); !is_new) at->second = nullptr;
    }
  }

  JobAnswer answer() {
    std::vector<JobStep> steps = job_steps();
    keep_whole(steps);
    const std::size_t made = steps.size();
    leave_out_lost(steps);
    if (!steps.empty() && !thin_out(steps)) return {{}, {}, TimeUnknown::kTooMany};
    if (steps.empty() && has_steps()) return {{}, {}, TimeUnknown::kNoSteps};
    if (steps.empty() && events() > most_events_) return {{}, {}, TimeUnknown::kTooMany};
    devices_.resize(members_.size());
    std::shared_ptr<const DeviceTimeline> first = members_[0].device();
    devices_[0] = Device(*first);
    // Needs no graph to be found unknown.
    if (const TimeUnknown why = unseen(0); why != TimeUnknown::kKnown && !devices_[0].is_whole()) return {{}, {}, why};
    const bool has_path = build(steps, std::move(first));
    // Of a process alone its own answer tells it (critical_path.h).
    const bool is_alone = members_.size() == 1;
    std::optional<RunPath> run = has_path && !is_alone ? path(steps, made) : std::nullopt;
    const bool is_whole = is_alone ? has_path : run && run->looked_at == std::max<std::size_t>(1, steps.size());
    const std::vector<Window> windows = windows_to_explain(steps);
    const TimeUnknown why = time_unknown(windows);
    if (why != TimeUnknown::kKnown) return {std::move(run), {}, why};
    return {std::move(run), time(steps, windows, is_whole), why};
  }

 private:
  std::optional<RunPath> path(const std::vector<JobStep>& steps, std::size_t made) {
    RunPath run;
    run.steps = made;
    for (const RunPathMember& member : members_) run.ranks.push_back({member.answer->rank, member.answer->pid, {}});
    PathReplay replay(job_);
    if (steps.empty()) add(answer_all(job_, replay), run);
    const std::vector<std::size_t> replayed = spread_over(steps.size(), kMostReplayed);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool again = std::binary_search(replayed.begin(), replayed.end(), i);
      add(answer_stretch(job_, again ? &replay : nullptr, steps[i].window.begin_ns, ends_of(steps[i])), run);
    }
    if (run.looked_at == 0 || run.path.length_ns <= 0) return std::nullopt;
    return run;
  }

  std::vector<Window> windows_to_explain(const std::vector<JobStep>& steps) const {
    if (steps.empty()) return whole_run();
    std::vector<Window> windows;
    for (const JobStep& step : steps) windows.push_back(step.window);
    return windows;
  }

  // Of the records and activities of one member, whatever its graph holds.
  TimeUnknown unseen(std::uint32_t member) const {
    const ProcessAnswer& answer = *members_[member].answer;
    if (!answer.whole_since_ms && answer.summed_only > 0) return TimeUnknown::kNoRecords;
    // It launched, and no record says what: to look at its thread alone would be to take it for a program without a GPU.
    if (!devices_[member].watched && answer.launches.call.count() > 0) return TimeUnknown::kNoRecords;
    return devices_[member].none_lost ? TimeUnknown::kKnown : TimeUnknown::kLostActivities;
  }

  TimeUnknown time_unknown(const std::vector<Window>& windows) const {
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      if (const TimeUnknown why = unseen(i); why != TimeUnknown::kKnown) return why;
      if (windows.empty()) return TimeUnknown::kNoSteps;
      if (!job_.parts[i].host.whole || !is_whole(thread_of(i), job_.parts[i])) return TimeUnknown::kLostRecords;
    }
    return TimeUnknown::kKnown;
  }

  // `has_path`: of each step.
  StepTime time(const std::vector<JobStep>& steps, const std::vector<Window>& windows, bool has_path) {
    std::vector<StepTimeMember> members;
    std::vector<KernelDurations> kernels;
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      members.push_back({{members_[i].timeline, members_[i].answer, axes_[i]}, thread_of(i), {}});
      for (std::size_t w = 0; w < members_[i].workers.size(); ++w)
        members[i].workers.push_back(
            {members_[i].workers[w].timeline, members_[i].workers[w].answer, worker_axes_[i][w]});
      kernels.push_back(std::move(devices_[i].kernels));
    }
    std::vector<PathEnds> ends;
    for (const JobStep& step : steps)
      if (has_path) ends.push_back(ends_of(step));
    const std::optional<std::size_t> worst = worst_of(steps);
    StepTime time = answer_step_time(job_, members, slow_gpus(kernels), windows, ends, symbols_, worst);
    if (time.worst) time.worst->number = steps[*worst].number, time.worst->type = steps[*worst].type;
    for (const JobStep& step : steps)
      time.each.push_back({step.number, step.type, realtime_ns(step.window.begin_ns), step.window.length_ns()});
    return time;
  }

  // That is longest beside the median of its type; nothing: there are no steps.
  static std::optional<std::size_t> worst_of(const std::vector<JobStep>& steps) {
    std::map<std::uint32_t, std::vector<double>> lengths_ns;
    for (const JobStep& step : steps) lengths_ns[step.type].push_back(step.window.length_ns());
    for (auto& [type, all] : lengths_ns) std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
    std::optional<std::size_t> worst;
    double most_ns = -1e300;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::vector<double>& all = lengths_ns[steps[i].type];
      const double excess_ns = steps[i].window.length_ns() - all[all.size() / 2];
      if (excess_ns > most_ns) most_ns = excess_ns, worst = i;
    }
    return worst;
  }

  // The axis counts from the first member's first moment.
  std::uint64_t realtime_ns(double on_axis_ns) const {
    const ProcessAnswer& first = *members_[0].answer;
    const std::uint64_t base_ns = members_[0].timeline->trace().clock.monotonic_ns_of(0);
    const double since_start_ns =
        static_cast<double>(static_cast<std::int64_t>(base_ns - first.start_monotonic_ns)) + on_axis_ns;
    return first.start_realtime_ns + static_cast<std::uint64_t>(std::llround(since_start_ns));
  }

  // Start-up, as where a program imports what it needs behind its first copies, is what comes before the GPUs have done a fiftieth of what
  // they do in all; what comes behind as much is the end of it.
  Window main_part() const {
    constexpr double kEnds = 0.02;
    std::vector<std::pair<double, double>> work;  // begin, length
    double all_ns = 0;
    for (const PathGraph& graph : job_.parts)
      for (const ActivityNode& node : graph.nodes) {
        work.emplace_back(node.begin_ns, node.end_ns - node.begin_ns);
        all_ns += work.back().second;
      }
    std::sort(work.begin(), work.end());
    Window part{1e300, -1e300};
    double done_ns = 0;
    for (const auto& [begin_ns, length_ns] : work) {
      const bool is_start = done_ns + length_ns <= kEnds * all_ns, is_end = done_ns >= (1 - kEnds) * all_ns;
      done_ns += length_ns;
      if (is_start || is_end) continue;
      part = {std::min(part.begin_ns, begin_ns), std::max(part.end_ns, begin_ns + length_ns)};
    }
    return part;
  }

  // In parts: who waits for whom is looked for in one of them at a time. Empty: no GPU did anything.
  std::vector<Window> whole_run() const {
    constexpr std::size_t kMostOfPart = 4096;
    const PathGraph* most = nullptr;
    for (const PathGraph& graph : job_.parts)
      if (most == nullptr || graph.nodes.size() > most->nodes.size()) most = &graph;
    Window all = main_part();
    std::vector<Window> windows;
    if (all.end_ns <= all.begin_ns) return windows;
    for (std::size_t i = kMostOfPart; i < most->nodes.size(); i += kMostOfPart) {
      const double at_ns = most->nodes[i].begin_ns;
      if (at_ns <= all.begin_ns || at_ns >= all.end_ns) continue;
      windows.push_back({all.begin_ns, at_ns});
      all.begin_ns = at_ns;
    }
    windows.push_back(all);
    return windows;
  }

  static void add(const PathStretch& stretch, RunPath& run) {
    if (!stretch.known) return;
    ++run.looked_at;
    run.path.add(stretch.path);
    for (std::size_t i = 0; i < run.ranks.size(); ++i)
      for (std::size_t c = 0; c < kPathClasses; ++c) run.ranks[i].share_ns[c] += stretch.share_ns[i][c];
  }

  bool has_steps() const {
    return std::any_of(members_.begin(), members_.end(),
                       [](const RunPathMember& member) { return !member.answer->steps.steps.empty(); });
  }

  // Marks have numbers that all ranks count alike.
  std::vector<JobStep> job_steps() const {
    const bool marks = std::all_of(members_.begin(), members_.end(), [](const RunPathMember& member) {
      return member.answer->steps.source == StepSource::kMarks;
    });
    return marks ? marked_steps() : detected_steps();
  }

  std::vector<JobStep> marked_steps() const {
    std::vector<JobStep> steps;
    for (const Step& first : members_[0].answer->steps.steps) {
      if (numbered(0, first.number) == nullptr) continue;
      const Window own = on_axis(0, first);
      JobStep step{own, {own.end_ns}, false, first.number, first.type};
      for (std::uint32_t i = 1; i < members_.size(); ++i) {
        const Step* same = numbered(i, first.number);
        if (same == nullptr) break;
        add_end(on_axis(i, *same), step);
      }
      if (step.ends_ns.size() == members_.size()) append(step, steps);
    }
    return steps;
  }

  // Of detected ones those belong together that share most of their time. A host that is ahead of its GPU makes some steps in no time and
  // waits in others: where steps differ less they are the job's, and such a rank has done by then what it has done.
  std::vector<JobStep> detected_steps() const {
    const std::uint32_t even = most_even();
    std::vector<JobStep> steps;
    for (const Step& first : members_[even].answer->steps.steps) {
      const Window own = on_axis(even, first);
      JobStep step{own, {}, false, first.number, first.type};
      for (std::uint32_t i = 0; i < members_.size(); ++i) {
        if (!makes_steps_in(i, own)) break;
        const Step* same = i == even ? &first : most_shared(i, own);
        const Window other = same == nullptr ? own : on_axis(i, *same);
        add_end(2 * std::abs(other.end_ns - own.end_ns) < own.length_ns() ? other : own, step);
      }
      if (step.ends_ns.size() == members_.size()) append(step, steps);
    }
    return steps;
  }

  bool makes_steps_in(std::uint32_t member, const Window& window) const {
    const std::vector<Step>& steps = members_[member].answer->steps.steps;
    const double middle_ns = (window.begin_ns + window.end_ns) / 2;
    return !steps.empty() && on_axis(member, steps.front()).begin_ns <= middle_ns &&
           middle_ns <= on_axis(member, steps.back()).end_ns;
  }

  // All make as many steps in the same time, so it is the one whose median step is the longest.
  std::uint32_t most_even() const {
    constexpr double kClear = 1.1;
    std::uint32_t even = 0;
    for (std::uint32_t i = 1; i < members_.size(); ++i)
      if (members_[i].answer->steps.usual_ns() > kClear * members_[even].answer->steps.usual_ns()) even = i;
    return even;
  }

  static void add_end(const Window& same, JobStep& step) {
    step.window.begin_ns = std::min(step.window.begin_ns, same.begin_ns);
    step.window.end_ns = std::max(step.window.end_ns, same.end_ns);
    step.ends_ns.push_back(same.end_ns);
  }

  static void append(JobStep step, std::vector<JobStep>& steps) {
    if (!steps.empty()) step.window.begin_ns = std::max(step.window.begin_ns, steps.back().window.end_ns);
    if (step.window.length_ns() > 0) steps.push_back(step);
  }

  const Step* numbered(std::uint32_t member, std::uint64_t number) const {
    const auto found = numbers_[member].find(number);
    return found == numbers_[member].end() ? nullptr : found->second;
  }

  Window on_axis(std::uint32_t member, const Step& step) const {
    return {axes_[member].of(step.begin_ns), axes_[member].of(step.end_ns)};
  }

  const Step* most_shared(std::uint32_t member, const Window& window) const {
    const std::vector<Step>& steps = members_[member].answer->steps.steps;
    auto at = std::partition_point(steps.begin(), steps.end(),
                                   [&](const Step& step) { return on_axis(member, step).end_ns <= window.begin_ns; });
    for (; at != steps.end() && on_axis(member, *at).begin_ns < window.end_ns; ++at) {
      const Window other = on_axis(member, *at);
      const double shared_ns = std::min(other.end_ns, window.end_ns) - std::max(other.begin_ns, window.begin_ns);
      if (2 * shared_ns > window.length_ns()) return &*at;
    }
    return nullptr;
  }

  std::size_t events() const {
    std::size_t all = 0;
    for (const RunPathMember& member : members_) all += member.answer->records + member.answer->gpu.kernels;
    return all;
  }

  // Before, records are in counters, of one thread earlier than of another: who woke whom is not known then. Where all steps lie there
  // (one step that a dump holds) they are looked at all the same.
  void keep_whole(std::vector<JobStep>& steps) const {
    double whole_ns = -1e300;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const ProcessAnswer& answer = *members_[i].answer;
      if (answer.whole_since_ms && *answer.whole_since_ms > 0)
        whole_ns = std::max(whole_ns, axes_[i].of(answer.start_since_first_ns + 1e6 * *answer.whole_since_ms));
    }
    const auto first = std::find_if(steps.begin(), steps.end(),
                                    [whole_ns](const JobStep& step) { return step.window.begin_ns >= whole_ns; });
    if (first != steps.end()) steps.erase(steps.begin(), first);
  }

  // Steps in which calls of a thread that makes them are missing; unless they are all of that kind.
  void leave_out_lost(std::vector<JobStep>& steps) const {
    const std::vector<Window> lost = lost_on_axis();
    std::vector<JobStep> whole;
    bool left_out = false;
    for (const JobStep& step : steps) {
      const auto at = std::partition_point(lost.begin(), lost.end(),
                                           [&](const Window& window) { return window.end_ns <= step.window.begin_ns; });
      const bool is_lost = at != lost.end() && at->begin_ns < step.window.end_ns;
      if (!is_lost) whole.push_back({step.window, step.ends_ns, left_out, step.number, step.type});
      left_out = is_lost;
    }
    if (!whole.empty()) steps = std::move(whole);
  }

  std::vector<Window> lost_on_axis() const {
    std::vector<Window> all;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const ProcessAnswer& answer = *members_[i].answer;
      if (answer.lost == 0 && answer.skipped == 0) continue;
      for (const Track& track : members_[i].timeline->tracks()) {
        if (track.role != Role::kMain && track.role != Role::kAutograd && !(track.key() == answer.steps.thread))
          continue;
        for (const Window& window : lost_time(*members_[i].timeline, track))
          all.push_back({axes_[i].of(window.begin_ns), axes_[i].of(window.end_ns)});
      }
    }
    return joined(std::move(all));
  }

  // False: not one of them fits.
  bool thin_out(std::vector<JobStep>& steps) const {
    std::vector<Window> windows;
    for (const JobStep& step : steps) windows.push_back(step.window);
    const std::size_t fits = steps_that_fit(windows, events(), most_events_);
    if (fits >= steps.size()) return true;
    std::vector<JobStep> some;
    for (const std::size_t i : spread_over(steps.size(), fits)) some.push_back(steps[i]);
    steps = std::move(some);
    return !steps.empty();
  }

  // Steps that follow each other closely are one window, which is read once.
  static std::vector<Window> windows_of(const std::vector<JobStep>& steps, const TimeAxis& axis) {
    if (steps.empty()) return {Window{}};
    std::vector<Window> windows;
    for (const JobStep& step : steps) {
      const Window own = axis.back(step.window);
      if (!windows.empty() && !step.after_others && own.begin_ns - windows.back().end_ns < own.length_ns())
        windows.back().end_ns = own.end_ns;
      else
        windows.push_back(own);
    }
    return windows;
  }

  // False: something is not known that the path needs.
  bool build(const std::vector<JobStep>& steps, std::shared_ptr<const DeviceTimeline> first) {
    job_.parts.resize(members_.size());
    std::vector<char> whole(members_.size());
    run_parallel(members_.size(), cores_, [&](std::size_t i) {
      const auto number = static_cast<std::uint32_t>(i);
      const std::shared_ptr<const DeviceTimeline> device =
          i == 0 ? std::exchange(first, nullptr) : members_[i].device();
      devices_[i] = Device(*device);
      job_.parts[i] = make_path_graph(*members_[i].timeline, *device, windows_of(steps, axes_[i]), axes_[i]);
      devices_[i].kernels = kernel_durations(job_.parts[i], *device);
      whole[i] = devices_[i].is_whole() && devices_[i].has_order && job_.parts[i].is_whole() &&
                 is_whole(thread_of(number), job_.parts[i]);
    });
    for (std::size_t i = 0; i < members_.size(); ++i) follow_batches(i, steps);
    double error_ns = 0;
    std::vector<OperationMember> joined;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      error_ns = std::max(error_ns, members_[i].clock.error_ns);
      joined.push_back({members_[i].timeline, members_[i].kernels, axes_[i]});
    }
    job_.all_are_here = std::all_of(members_.begin(), members_.end(), [this](const RunPathMember& one) {
      return one.answer->world_size <= members_.size();
    });
    if (members_.size() > 1 || !job_.all_are_here) join_operations(joined, error_ns, cores_, job_);
    return std::find(whole.begin(), whole.end(), 0) == whole.end();
  }

  void follow_batches(std::size_t member, const std::vector<JobStep>& steps) {
    std::vector<LoaderWorker> workers;
    for (std::size_t w = 0; w < members_[member].workers.size(); ++w) {
      const TimeAxis& axis = worker_axes_[member][w];
      workers.push_back({members_[member].workers[w].timeline, axis, windows_of(steps, axis)});
    }
    if (!workers.empty()) link_batches(*members_[member].timeline, workers, symbols_, job_.parts[member]);
  }

  std::int32_t thread_of(std::uint32_t member) const {
    const ThreadKey& key = members_[member].answer->steps.thread;
    const PathGraph& graph = job_.parts[member];
    for (const Track& track : members_[member].timeline->tracks())
      if (track.key() == key) return thread_number(graph, &track);
    if (graph.main >= 0) return graph.main;
    for (const Track& track : members_[member].timeline->tracks())
      if (track.role == Role::kMain) return thread_number(graph, &track);
    return -1;
  }
  static bool is_whole(std::int32_t thread, const PathGraph& graph) {
    return thread >= 0 && graph.host.threads[static_cast<std::size_t>(thread)].whole;
  }
  PathEnds ends_of(const JobStep& step) const {
    PathEnds ends;
    for (std::uint32_t i = 0; i < members_.size(); ++i) ends.push_back({i, thread_of(i), kNoActivity, step.ends_ns[i]});
    return ends;
  }

  const std::vector<RunPathMember>& members_;
  Symbols& symbols_;
  const unsigned cores_;
  const std::size_t most_events_;
  std::vector<TimeAxis> axes_;
  std::vector<std::vector<TimeAxis>> worker_axes_;                       // by member
  std::vector<std::unordered_map<std::uint64_t, const Step*>> numbers_;  // by member; nullptr: several have that one
  std::vector<Device> devices_;                                          // the same
  JobGraph job_;
};

}  // namespace

JobAnswer answer_job(const std::vector<RunPathMember>& members, Symbols& symbols, unsigned cores,
                     std::size_t most_events) {
  if (members.empty()) return {};
  return RunPathQuestion(members, symbols, cores, most_events).answer();
}

}  // namespace hostprobe::analysis
