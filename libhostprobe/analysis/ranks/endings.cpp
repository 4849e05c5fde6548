// endings.cpp: see endings.h.
#include "endings.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <map>

#include "answer/run.h"

namespace hostprobe::analysis {
namespace {

constexpr int kShellSignal = 128;

double since_begin_s(const RunAnswer& run, std::uint64_t realtime_ns) {
  return 1e-9 * static_cast<double>(static_cast<std::int64_t>(realtime_ns - run.start_realtime_ns));
}

double last_sign_s(const RunAnswer& run, const ProcessAnswer& process) {
  return since_begin_s(run, process.start_realtime_ns) + 1e-3 * process.wall_ms;
}

// The process that had this id when its parent collected it.
ProcessAnswer* child_of(RunAnswer& run, const ProcessAnswer& parent, const ChildEnd& child) {
  ProcessAnswer* found = nullptr;
  for (ProcessAnswer& process : run.processes) {
    if (process.pid != child.pid || process.boot_id != parent.boot_id || process.host != parent.host) continue;
    if (process.start_realtime_ns > child.realtime_ns) continue;
    if (found == nullptr || process.start_realtime_ns > found->start_realtime_ns) found = &process;
  }
  return found;
}

void note(ProcessAnswer& process, std::optional<int> signal, std::optional<int> status, double at_s) {
  if (process.end == EndState::kRunning) return;
  process.end_signal = signal;
  process.end_status = status;
  process.end_s = std::max(process.end_s, at_s);
  // The trace could not see it.
  const bool was_open = process.end == EndState::kUnseen || process.end == EndState::kRecovered;
  if (was_open) process.end = signal ? EndState::kKilled : EndState::kEnded;
}

void note_child(RunAnswer& run, const ProcessAnswer& parent, const ChildEnd& child) {
  ProcessAnswer* process = child_of(run, parent, child);
  if (process == nullptr) return;
  const double at_s = since_begin_s(run, child.realtime_ns);
  if (WIFSIGNALED(child.status))
    note(*process, WTERMSIG(child.status), {}, at_s);
  else if (WIFEXITED(child.status))
    note(*process, {}, WEXITSTATUS(child.status), at_s);
}

// What it became last, if it became another program (exec).
ProcessAnswer* program_of(RunAnswer& run, const JobFile& job) {
  ProcessAnswer* found = nullptr;
  for (ProcessAnswer& process : run.processes) {
    if (process.pid != job.pid || process.host != job.host) continue;
    if (found == nullptr || process.start_realtime_ns > found->start_realtime_ns) found = &process;
  }
  return found;
}

void note_job(RunAnswer& run, const JobFile& job) {
  ProcessAnswer* process = program_of(run, job);
  if (process == nullptr) return;
  // A program that ended properly chose its status itself, whatever it means to a shell.
  const bool by_signal = *job.status > kShellSignal && process->end != EndState::kEnded;
  const double at_s = since_begin_s(run, process->start_realtime_ns) + job.wall_s;
  if (by_signal)
    note(*process, *job.status - kShellSignal, {}, std::min(at_s, run.wall_s + 1));
  else
    note(*process, {}, *job.status, process->end_s);
}

bool has_traced_parent(const RunAnswer& run, const ProcessAnswer& process) {
  return std::any_of(run.processes.begin(), run.processes.end(), [&process](const ProcessAnswer& other) {
    return &other != &process && other.pid == process.parent_pid && other.host == process.host;
  });
}

// In a run without ranks, what the program's own children make of themselves is its own business.
bool is_leading(const RunAnswer& run, const ProcessAnswer& process) {
  if (run.ranks > 0) return process.kind == ProcessKind::kRank;
  return process.kind == ProcessKind::kOther && !has_traced_parent(run, process);
}

bool is_death(const ProcessAnswer& process) {
  if (process.end == EndState::kRunning) return false;
  if (process.end_signal) return true;
  if (process.end_status) return *process.end_status != 0;
  return process.end != EndState::kEnded;
}

// What a launcher does to the others is no news.
bool is_told_to_end(const ProcessAnswer& process) { return process.end_signal == SIGTERM; }

}  // namespace

void tell_endings(RunAnswer& run, const ProcessWorks& works, const std::vector<JobFile>& jobs) {
  for (ProcessAnswer& process : run.processes) process.end_s = last_sign_s(run, process);
  for (const JobFile& job : jobs)
    if (job.status) note_job(run, job);
  for (const ProcessAnswer& parent : run.processes)
    if (const auto work = works.find(parent.trace_path); work != works.end())
      for (const ChildEnd& child : work->second.children_ended) note_child(run, parent, child);
}

std::vector<Death> deaths_of(const RunAnswer& run) {
  std::map<int, Death> first;
  const auto order = [&run](std::size_t process) {
    return std::pair(is_told_to_end(run.processes[process]), run.processes[process].end_s);
  };
  for (std::size_t i = 0; i < run.processes.size(); ++i) {
    const ProcessAnswer& process = run.processes[i];
    if (!is_leading(run, process) || !is_death(process)) continue;
    const auto [death, fresh] = first.try_emplace(process.restart.value_or(0), Death{i, 0});
    if (fresh) continue;
    if (order(i) < order(death->second.process)) death->second.process = i;
    ++death->second.others;
  }
  std::vector<Death> deaths;
  for (const auto& [restart, death] : first) deaths.push_back(death);
  return deaths;
}

Restarts restarts_of(const RunAnswer& run) {
  struct Life {
    double begin_s, end_s;
  };
  std::map<int, Life> incarnations;
  for (const ProcessAnswer& process : run.processes) {
    if (process.kind != ProcessKind::kRank || !process.restart) continue;
    const double begin_s = since_begin_s(run, process.start_realtime_ns);
    const auto [life, fresh] = incarnations.try_emplace(*process.restart, Life{begin_s, process.end_s});
    if (fresh) continue;
    life->second.begin_s = std::min(life->second.begin_s, begin_s);
    life->second.end_s = std::max(life->second.end_s, process.end_s);
  }
  Restarts restarts;
  if (incarnations.empty()) return restarts;
  restarts.count = static_cast<std::uint32_t>(incarnations.rbegin()->first);
  for (auto one = std::next(incarnations.begin()); one != incarnations.end(); ++one)
    restarts.lost_s += std::max(0.0, one->second.begin_s - std::prev(one)->second.end_s);
  return restarts;
}

}  // namespace hostprobe::analysis
