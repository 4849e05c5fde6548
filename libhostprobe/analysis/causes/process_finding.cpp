// process_finding.cpp: see process_finding.h.
#include "process_finding.h"

#include <algorithm>

#include "analysis/measures/sampled_share.h"
#include "answer/telling_frames.h"
#include "detectors.h"

namespace hostprobe::analysis {
namespace {

// All that is known of counters is that all but so much of them was in steps.
bool may_be_start_up(const ProcessAnswer& process, const Finding& finding) {
  if (process.steps.lengths.count == 0 || finding.of_steps) return false;
  const double outside_ms = process.wall_ms - 1e-6 * process.steps.lengths.total_ns;
  return outside_ms > 0.5 * 1e-2 * finding.share_pct * process.wall_ms;
}

constexpr double kHalf = 0.5;  // for sure, in 95 of 100 cases

bool are_mostly(std::uint64_t some, std::uint64_t all) { return share_of_samples(some, all).low >= kHalf; }

}  // namespace

std::vector<const ProcessAnswer*> leading_processes(const RunAnswer& run) {
  std::vector<const ProcessAnswer*> result;
  for (const ProcessAnswer& process : run.processes) {
    if (run.ranks > 0 ? process.kind == ProcessKind::kRank : process.kind != ProcessKind::kWorker)
      result.push_back(&process);
  }
  return result;
}

Finding process_finding(const RunAnswer& run, const ProcessAnswer& process, Symptom symptom, Cause cause,
                        double share_pct) {
  Finding finding;
  finding.cause = cause;
  finding.symptom = symptom;
  if (process.kind == ProcessKind::kRank) finding.rank = process.rank.value_or(0);
  finding.pid = process.pid;
  finding.only_process = run.processes.size() == 1;
  finding.share_pct = share_pct;
  finding.fix = usual_fix(cause);
  return finding;
}

void leave_start_up(const ProcessAnswer& process, Finding& finding) {
  finding.with_start_up = may_be_start_up(process, finding);
  if (finding.with_start_up) finding.fix = Fix::kNone;
}

std::string usual_place(const ProcessAnswer& process, std::uint32_t tid) {
  for (const RunningAnswer& one : process.running) {
    if (one.thread.tid != tid) continue;
    const bool has_python = one.python_samples > 0;
    const std::vector<RunningRow>& rows = has_python ? one.python : one.code;
    const std::uint64_t samples = has_python ? one.python_samples : one.code_samples;
    if (rows.empty() || rows.front().function.empty()) return {};
    return are_mostly(rows.front().samples, samples) ? running_frame(rows.front()) : "";
  }
  return {};
}

std::string collecting_place(const ProcessAnswer& process) {
  const RunningRow* most = nullptr;
  for (const RunningAnswer& one : process.running)
    for (const RunningRow& row : one.python)
      if (row.function == kCollecting && row.file.empty() && (most == nullptr || row.ns > most->ns)) most = &row;
  return most != nullptr && are_mostly(most->caller_samples, most->called_samples) ? most->caller : "";
}

double main_wait_pct(const ProcessAnswer& process, WaitPurpose purpose) {
  double pct = 0;
  for (const WaitSite& site : process.waits) {
    if (site.role == Role::kMain) pct += site.share_for(purpose);
  }
  return std::min(100.0, pct);
}

double no_cpu_pct(const ProcessAnswer& process) {
  const ThreadAnswer* thread = process.main_thread();
  if (thread == nullptr || !thread->time.run_delay_ms || thread->time.wall_ms <= 0) return 0;
  return 100 * *thread->time.run_delay_ms / thread->time.wall_ms;
}

double throttled_pct(const ProcessAnswer& process) {
  if (!process.quota) return 0;
  return std::min(no_cpu_pct(process), process.wall_share(1e-6 * process.quota->throttled_ns));
}

bool is_for_lack_of_cpu(const ProcessAnswer& process, double pct) {
  return no_cpu_pct(process) >= std::max(least_share_pct(Symptom::kNotRunning), pct);
}

std::optional<double> gpu_idle_pct(const ProcessAnswer& process) {
  if (process.gpu.idle_in_steps_pct || !process.gpu.busy_ms) return process.gpu.idle_in_steps_pct;
  return 100 - process.wall_share(*process.gpu.busy_ms);
}

}  // namespace hostprobe::analysis
