// run_findings.cpp: see run_findings.h.
#include "run_findings.h"

#include <algorithm>
#include <utility>

#include "analysis/causes/detectors.h"
#include "analysis/causes/garbage.h"
#include "analysis/causes/launch_pace.h"
#include "analysis/causes/loader_workers.h"
#include "analysis/causes/mask_supply.h"
#include "analysis/causes/pool_supply.h"
#include "analysis/causes/process_finding.h"
#include "analysis/causes/shared_work.h"
#include "analysis/causes/supply.h"
#include "step_findings.h"

namespace hostprobe::analysis {
namespace {

constexpr double kMostlyUnknownPct = 50;  // of the steps: so much is not explained, so totals are heard beside them

// The steps of a process alone, where they are known; else its life.
bool is_asked_of_steps(AskedOf of, const ProcessAnswer& process) {
  if (process.steady == nullptr) return false;
  return of == AskedOf::kSteps || (of == AskedOf::kCountedSteps && process.steps.steps.empty());
}

std::optional<Finding> ask(const Detector& detector, const RunAnswer& run, const ProcessAnswer& process) {
  const bool of_steps = is_asked_of_steps(detector.of, process);
  std::optional<Finding> finding = detector.ask(run, of_steps ? process.in_steps() : process);
  if (!finding) return finding;
  finding->of_steps |= of_steps;
  finding->of_part = is_read_in_part(process);
  if (detector.of != AskedOf::kLife) leave_start_up(process, *finding);
  if (process.kind != ProcessKind::kRank) finding->rank.reset();
  return finding;
}

// Of the same symptom in several processes, the one that costs most.
std::optional<Finding> worst_of(const RunAnswer& run, const Detector& detector) {
  std::optional<Finding> worst;
  for (const ProcessAnswer* process : leading_processes(run)) {
    std::optional<Finding> finding = ask(detector, run, *process);
    if (finding && (!worst || finding->share_pct > worst->share_pct)) worst = std::move(finding);
  }
  return worst;
}

// What else is known of the same cause in that process: how often, by what, what is there to do.
void add_totals(const RunAnswer& run, Finding& finding) {
  for (const ProcessAnswer& process : run.processes) {
    if (process.pid != finding.pid) continue;
    add_workers(finding, run, process);
    add_masks(finding, run, process);
    add_launch_pace(finding, process.in_steps());
    for (const Detector& detector : detectors()) {
      if (!detector.adds) continue;
      const auto same = detector.ask(run, detector.of == AskedOf::kLife ? process : process.in_steps());
      if (!same || same->cause != finding.cause) continue;
      if (finding.fix == Fix::kNone) finding.fix = same->fix;
      finding.evidence.add(same->evidence);
    }
  }
}

// Of a finding about all ranks the one whose main thread lacked a CPU most.
const ProcessAnswer* short_of_cpu(const RunAnswer& run, const Finding& finding) {
  const ProcessAnswer* worst = nullptr;
  for (std::uint32_t i = 0; i < run.step_members.size(); ++i) {
    const ProcessAnswer* process = run.step_member(i);
    if (process == nullptr || (finding.pid != 0 && process->pid != finding.pid)) continue;
    if (worst == nullptr || no_cpu_pct(*process) > no_cpu_pct(*worst)) worst = process;
  }
  return worst;
}

void add_missing_supply(const RunAnswer& run, Finding& finding) {
  if (finding.cause != Cause::kCpuContention && finding.cause != Cause::kCpuThrottle) return;
  const ProcessAnswer* worst = short_of_cpu(run, finding);
  if (worst == nullptr) return;
  if (finding.cause == Cause::kCpuContention && finding.evidence.find<NoCpuEvidence>() == nullptr)
    add_supply(finding, run, *worst);
  add_pools(finding, run, *worst);
  add_masks(finding, run, *worst);
}

// Threads that are short of CPUs at times, while neither the job nor anybody else fills them, were put on one CPU by the kernel. That is so
// in every job, and there is little to do about it.
bool is_little_and_of_nobody(const Finding& finding) {
  constexpr double kLittle = 2;  // times the least share
  const auto* supply = finding.evidence.find<NoCpuEvidence>();
  if (finding.cause != Cause::kCpuContention || supply == nullptr || !supply->taken_by.empty()) return false;
  const bool is_explained =
      finding.evidence.find<PoolEvidence>() != nullptr || finding.evidence.find<MaskEvidence>() != nullptr;
  return !is_explained && finding.share_pct < kLittle * least_share_pct(finding.cause);
}

std::optional<Finding> found_alone(const RunAnswer& run) {
  for (const RunDetector& detector : run_detectors())
    if (detector.rule == RunRule::kAlone)
      if (auto finding = detector.ask(run)) return finding;
  return std::nullopt;
}

// Where the time of the steps went explains all but the probe's own cost.
std::vector<Finding> findings_of_steps(const RunAnswer& run) {
  std::vector<Finding> findings = find_in_steps(run);
  for (Finding& finding : findings) {
    add_totals(run, finding);
    add_missing_supply(run, finding);
    bound_by_work(finding, run);
    if (finding.cause == Cause::kGcPause) add_garbage(finding, run);
  }
  std::erase_if(findings, is_little_and_of_nobody);
  join_pools(findings, run);
  for (const Detector& detector : detectors()) {
    if (detector.symptom != Symptom::kOwnCost) continue;
    if (auto worst = worst_of(run, detector); worst && worst->of_steps) findings.push_back(std::move(*worst));
  }
  return findings;
}

void sort_by_share(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& l, const Finding& r) {
    return std::pair(r.with_start_up, l.share_pct) > std::pair(l.with_start_up, r.share_pct);
  });
}

std::vector<Finding> findings_of_totals(const RunAnswer& run) {
  std::vector<Finding> findings;
  for (const RunDetector& detector : run_detectors())
    if (detector.rule == RunRule::kBeside)
      if (auto finding = detector.ask(run)) findings.push_back(std::move(*finding));
  for (const Detector& detector : detectors())
    if (auto worst = worst_of(run, detector)) findings.push_back(std::move(*worst));
  join_pools(findings, run);
  sort_by_share(findings);
  return findings;
}

std::vector<Finding> findings_of(const RunAnswer& run) {
  if (!run.step_time) return findings_of_totals(run);
  std::vector<Finding> findings = findings_of_steps(run);
  if (run.step_time->share_pct(Cause::kUnknown) < kMostlyUnknownPct) return findings;
  for (Finding& total : findings_of_totals(run))
    if (std::none_of(findings.begin(), findings.end(), [&](const Finding& one) { return one.cause == total.cause; }))
      findings.push_back(std::move(total));
  sort_by_share(findings);
  return findings;
}

}  // namespace

std::vector<Finding> find_causes(const RunAnswer& run) {
  std::vector<Finding> findings;
  if (auto alone = found_alone(run))
    findings.push_back(std::move(*alone));
  else
    findings = findings_of(run);
  for (Finding& finding : findings) finding.of_one_step = run.one_step.has_value();
  return findings;
}

WorstWaits worst_waits(const RunAnswer& run) {
  WorstWaits worst;
  for (const ProcessAnswer* process : leading_processes(run)) {
    for (const WaitSite& site : process->in_steps().waits) {
      if (site.role != Role::kMain) continue;
      worst.wait_pct = std::max(worst.wait_pct, site.share_pct);
      if (site.wake.count() > 0) worst.wake_p99_ns = std::max(worst.wake_p99_ns, site.wake.percentile_ns(99));
    }
  }
  return worst;
}

}  // namespace hostprobe::analysis
