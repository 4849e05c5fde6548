// run_job.cpp: see run_job.h.
#include "run_job.h"

#include <algorithm>
#include <set>

#include "analysis/measures/process_task.h"
#include "model/host_clocks.h"
#include "run_path.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

bool is_on_gpu(const ProcessAnswer& process) {
  return process.launches.hooked && process.gpu.source != ActivitySource::kNone;
}

// The more the surer it is what ran.
int gpu_knowledge(const ProcessAnswer& process) {
  if (!is_on_gpu(process)) return 0;
  if (process.gpu.source == ActivitySource::kBounds) return 1;
  return process.gpu.source == ActivitySource::kEvents ? 2 : 3;
}

// Of a process that works alone: its own.
std::optional<RunPath> path_of_one(const ProcessAnswer& process) {
  if (!process.path) return std::nullopt;
  RunPath run;
  run.path = *process.path;
  run.ranks = {{process.rank, process.pid, process.path->share_ns}};
  run.steps = process.steps.steps.size();
  run.looked_at = run.steps == 0 ? 0 : process.path->stretches;
  return run;
}

// A window of a few steps is exact, and says nothing of the others.
bool covers(const ProcessAnswer& profile, const ProcessAnswer& traced) {
  constexpr double kMostSteps = 0.5;
  const std::vector<Step>& steps = traced.steps.steps;
  if (steps.empty()) return true;
  return 1e6 * profile.wall_ms >= kMostSteps * (steps.back().end_ns - steps.front().begin_ns);
}

// Two profiles of one process hold a few steps each: that with the most speaks for it, whose steps stand at the report's head too.
bool is_said_better(const ProcessAnswer& profile, const RunAnswer& run) {
  if (profile.mode != "profile") return false;
  const std::size_t own = profile.steps.steps.size();
  return std::any_of(run.processes.begin(), run.processes.end(), [&](const ProcessAnswer& other) {
    const bool is_same = other.mode == profile.mode && other.pid == profile.pid && other.host == profile.host &&
                         other.rank == profile.rank;
    const std::size_t steps = other.steps.steps.size();
    return &other != &profile && is_same && (steps > own || (steps == own && &other < &profile));
  });
}

// Of each process that was traced and profiled, the one that knows less of its GPU; where neither does, of its waits. Of one with
// several profiles, all but one.
std::set<const ProcessAnswer*> known_twice(const RunAnswer& run) {
  std::set<const ProcessAnswer*> known;
  for (const ProcessAnswer& process : run.processes)
    if (is_said_better(process, run)) known.insert(&process);
  for (const ProcessAnswer& process : run.processes)
    if (const ProcessAnswer* traced = run.traced(process)) {
      const bool is_better = gpu_knowledge(process) > gpu_knowledge(*traced);
      const bool is_enough = gpu_knowledge(*traced) < 2 || covers(process, *traced);
      known.insert(is_better && is_enough ? traced : &process);
    }
  return known;
}

// Whose speed is the job's: the ranks; without ranks the only process on a GPU, else the one that makes most steps. Empty: two
// processes say they are the same rank.
std::vector<const ProcessAnswer*> workers_of_job(const RunAnswer& run, const std::set<const ProcessAnswer*>& twice) {
  std::vector<const ProcessAnswer*> workers;
  std::set<int> ranks;
  for (const ProcessAnswer& process : run.processes) {
    if (process.kind != ProcessKind::kRank || twice.contains(&process)) continue;
    if (!ranks.insert(process.rank.value_or(0)).second) return {};
    workers.push_back(&process);
  }
  if (!workers.empty()) return workers;
  for (const ProcessAnswer& process : run.processes)
    if (is_on_gpu(process) && !twice.contains(&process)) workers.push_back(&process);
  if (workers.size() == 1) return workers;
  const auto most = std::max_element(
      run.processes.begin(), run.processes.end(),
      [](const ProcessAnswer& l, const ProcessAnswer& r) { return l.steps.steps.size() < r.steps.steps.size(); });
  if (most == run.processes.end() || most->steps.steps.empty()) return {};
  return {&*most};
}

// A child of that process which writes into a pipe: what comes out of it the child has made.
bool writes_for(const Opened& child, const ProcessAnswer& answer, const ProcessAnswer& process) {
  return answer.host == process.host && answer.parent_pid == process.pid && writes_into_pipes(child.timeline->trace());
}

void tell_own_cost(RunAnswer& run) {
  if (!run.step_time || run.step_time->length_ns <= 0) return;
  for (std::size_t i = 0; i < run.step_time->own_ns.size(); ++i)
    for (ProcessAnswer& process : run.processes)
      if (process.trace_path == run.step_members[i] && process.own_cost && run.step_time->own_ns[i] >= 0)
        process.own_cost->steps_pct = 100 * run.step_time->own_ns[i] / run.step_time->length_ns;
}

}  // namespace

void answer_job_of(const std::vector<Opened>& opened, RunAnswer& run, Symbols& symbols, unsigned cores) {
  const std::map<std::string, const Opened*> by_path = by_trace(opened);
  const std::set<const ProcessAnswer*> twice = known_twice(run);
  const auto is_one_on_gpu = [&twice](const ProcessAnswer& process) {
    return is_on_gpu(process) && !twice.contains(&process);
  };
  const auto on_gpu = std::count_if(run.processes.begin(), run.processes.end(), is_one_on_gpu);
  std::vector<RunPathMember> members;
  for (const ProcessAnswer* process : workers_of_job(run, twice)) {
    const auto found = by_path.find(process->trace_path);
    const auto clock = run.host_clocks.find(process->host);
    if (run.hosts.size() > 1 && clock == run.host_clocks.end()) run.step_time_unknown = TimeUnknown::kClocks;
    if (found == by_path.end() || run.step_time_unknown == TimeUnknown::kClocks) return;
    const Opened* own = found->second;
    members.push_back({own->timeline.get(), process, [own] { return own->read_device(); }, own->kernels,
                       clock == run.host_clocks.end() ? HostClock{} : clock->second});
    run.step_members.push_back(process->trace_path);
    for (const ProcessAnswer& worker : run.processes)
      if (const auto of_worker = by_path.find(worker.trace_path);
          of_worker != by_path.end() &&
          (loads_for(worker, *process) || writes_for(*of_worker->second, worker, *process)))
        members.back().workers.push_back({of_worker->second->timeline.get(), &worker});
  }
  const auto is_in_part = [](const RunPathMember& member) { return is_read_in_part(*member.answer); };
  if (std::any_of(members.begin(), members.end(), is_in_part)) {
    run.step_time_unknown = TimeUnknown::kLostRecords;
    return;
  }
  if (members.size() < 2 && on_gpu == 1)
    run.critical_path = path_of_one(*std::find_if(run.processes.begin(), run.processes.end(), is_one_on_gpu));
  try {
    JobAnswer answer = answer_job(members, symbols, cores);
    if (members.size() > 1) run.critical_path = std::move(answer.path);
    run.step_time = std::move(answer.time);
    run.step_time_unknown = answer.unknown;
    tell_own_cost(run);
  } catch (const TraceError&) {
    run.step_time_unknown = TimeUnknown::kChanged;  // somebody changed a file since it was read
  }
}

}  // namespace hostprobe::analysis
