// run_path.cpp: see run_path.h.
#include "run_path.h"

#include <algorithm>
#include <unordered_map>

#include "parallel.h"
#include "path_operations.h"

namespace hostprobe::analysis {
namespace {

// A step of the job, on the job's axis.
struct JobStep {
  Window window;
  std::vector<double> ends_ns;  // of each member's own
};

class RunPathQuestion {
 public:
  RunPathQuestion(const std::vector<RunPathMember>& members, unsigned cores, std::size_t most_events)
      : members_(members), cores_(cores), most_events_(most_events) {
    const std::uint64_t base_ns = members[0].timeline->trace().clock.monotonic_ns_of(0);
    for (const RunPathMember& member : members) axes_.push_back(axis_of(*member.timeline, member.clock, base_ns));
    for (const RunPathMember& member : members) {
      auto& numbers = numbers_.emplace_back();
      for (const Step& step : member.answer->steps.steps)
        if (const auto [at, is_new] = numbers.try_emplace(step.number, &step); !is_new) at->second = nullptr;
    }
  }

  std::optional<RunPath> answer() {
    RunPath run;
    std::vector<JobStep> steps = job_steps();
    run.steps = steps.size();
    if (!steps.empty() && !thin_out(steps)) return std::nullopt;
    if (steps.empty() && (has_steps() || events() > most_events_)) return std::nullopt;
    if (!build(steps)) return std::nullopt;
    for (const RunPathMember& member : members_) run.ranks.push_back({member.answer->rank, member.answer->pid, {}});
    PathReplay replay(job_);
    if (steps.empty()) add(answer_all(job_, replay), run);
    for (const JobStep& step : steps) add(answer_stretch(job_, replay, step.window.begin_ns, ends_of(step)), run);
    if (run.looked_at == 0 || run.path.length_ns <= 0) return std::nullopt;
    return run;
  }

 private:
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

  // Marks have numbers that all ranks count alike. Of detected ones those belong together that share most of their time.
  std::vector<JobStep> job_steps() const {
    const bool marks = std::all_of(members_.begin(), members_.end(), [](const RunPathMember& member) {
      return member.answer->steps.source == StepSource::kMarks;
    });
    std::vector<JobStep> steps;
    for (const Step& first : members_[0].answer->steps.steps) {
      if (marks && numbered(0, first.number) == nullptr) continue;
      const Window own = on_axis(0, first);
      JobStep step{own, {own.end_ns}};
      for (std::uint32_t i = 1; i < members_.size(); ++i) {
        const Step* same = marks ? numbered(i, first.number) : most_shared(i, own);
        if (same == nullptr) break;
        const Window other = on_axis(i, *same);
        step.window.begin_ns = std::min(step.window.begin_ns, other.begin_ns);
        step.window.end_ns = std::max(step.window.end_ns, other.end_ns);
        step.ends_ns.push_back(other.end_ns);
      }
      if (step.ends_ns.size() < members_.size()) continue;
      if (!steps.empty()) step.window.begin_ns = std::max(step.window.begin_ns, steps.back().window.end_ns);
      if (step.window.length_ns() > 0) steps.push_back(step);
    }
    return steps;
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

  // False: not one of them fits.
  bool thin_out(std::vector<JobStep>& steps) const {
    double steps_ns = 0;
    for (const JobStep& step : steps) steps_ns += step.window.length_ns();
    const double span_ns = steps.back().window.end_ns - steps.front().window.begin_ns;
    const double events_in_steps = static_cast<double>(events()) * std::min(1.0, steps_ns / span_ns);
    const auto fits = static_cast<std::size_t>(static_cast<double>(most_events_) / std::max(1.0, events_in_steps) *
                                               static_cast<double>(steps.size()));
    if (fits >= steps.size()) return true;
    std::vector<JobStep> some;
    for (std::size_t i = 0; i < fits; ++i) some.push_back(steps[(2 * i + 1) * steps.size() / (2 * fits)]);
    steps = std::move(some);
    return !steps.empty();
  }

  // Steps that follow each other closely are one window, which is read once.
  std::vector<Window> windows_of(const std::vector<JobStep>& steps, std::uint32_t member) const {
    if (steps.empty()) return {Window{}};
    std::vector<Window> windows;
    for (const JobStep& step : steps) {
      const Window own = axes_[member].back(step.window);
      if (!windows.empty() && own.begin_ns - windows.back().end_ns < own.length_ns())
        windows.back().end_ns = own.end_ns;
      else
        windows.push_back(own);
    }
    return windows;
  }

  // False: something is not known.
  bool build(const std::vector<JobStep>& steps) {
    job_.parts.resize(members_.size());
    std::vector<char> whole(members_.size());
    run_parallel(members_.size(), cores_, [&](std::size_t i) {
      const std::shared_ptr<const DeviceTimeline> device = members_[i].device();
      if (device->source == ActivitySource::kNone || !device->is_whole()) return;
      const auto number = static_cast<std::uint32_t>(i);
      job_.parts[i] = make_path_graph(*members_[i].timeline, *device, windows_of(steps, number), axes_[i]);
      whole[i] = job_.parts[i].is_whole() && is_whole(thread_of(number), job_.parts[i]);
    });
    if (std::find(whole.begin(), whole.end(), 0) != whole.end()) return false;
    double error_ns = 0;
    std::vector<OperationMember> joined;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      error_ns = std::max(error_ns, members_[i].clock.error_ns);
      joined.push_back({members_[i].timeline, members_[i].kernels, axes_[i]});
    }
    join_operations(joined, error_ns, cores_, job_);
    return true;
  }

  std::int32_t thread_of(std::uint32_t member) const {
    const ThreadKey& key = members_[member].answer->steps.thread;
    const PathGraph& graph = job_.parts[member];
    for (const Track& track : members_[member].timeline->tracks())
      if (track.key() == key) return thread_number(graph, &track);
    return graph.main;
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
  const unsigned cores_;
  const std::size_t most_events_;
  std::vector<TimeAxis> axes_;
  std::vector<std::unordered_map<std::uint64_t, const Step*>> numbers_;  // by member; nullptr: several have that one
  JobGraph job_;
};

}  // namespace

std::optional<RunPath> answer_run_path(const std::vector<RunPathMember>& members, unsigned cores,
                                       std::size_t most_events) {
  if (members.empty()) return std::nullopt;
  return RunPathQuestion(members, cores, most_events).answer();
}

}  // namespace hostprobe::analysis
