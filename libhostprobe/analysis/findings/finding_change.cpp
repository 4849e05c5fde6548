// finding_change.cpp: see finding_change.h.
#include "finding_change.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "analysis/step_time/step_mean.h"

namespace hostprobe::analysis {
namespace {

// Findings move by so much of themselves, and by so many points, from run to run.
constexpr double kFindingShare = 0.25, kFindingPoints = 2;

using FindingKey = std::pair<std::string_view, std::optional<int>>;  // a cause by its id

// Causes in series add up, those beside each other do not: of several with one cause in one rank the heaviest counts.
std::map<FindingKey, Finding> heaviest(const RunAnswer& run) {
  std::map<FindingKey, Finding> found;
  for (const Finding& finding : run.findings) {
    const FindingKey key{cause_id(finding.cause), finding.rank};
    const auto [own, fresh] = found.try_emplace(key, finding);
    if (!fresh && finding.share_pct > own->second.share_pct) own->second = finding;
  }
  return found;
}

double main_wakes_ms(const ProcessAnswer& process) {
  double ns = 0;
  for (const WaitSite& site : process.waits)
    if (site.role == Role::kMain) ns += site.wake.total_ns();
  return 1e-6 * ns;
}

double site_pct(const ProcessAnswer& process, const FindingSite& wanted) {
  double pct = 0;
  for (const WaitSite& site : process.waits)
    if (site.function == wanted.function && site.library == wanted.library && site.role == wanted.role)
      pct += site.share_pct;
  return pct;
}

std::optional<double> known_no_cpu_pct(const ProcessAnswer& process) {
  const ThreadAnswer* main = process.main_thread();
  if (main == nullptr || !main->time.run_delay_ms || main->time.wall_ms <= 0) return std::nullopt;
  return 100 * *main->time.run_delay_ms / main->time.wall_ms;
}

// How large what a finding tells is in a run where it was too small to be one. Nothing: nobody knows.
std::optional<double> share_in(const RunAnswer& run, const Finding& finding) {
  const bool one = run.processes.size() == 1;
  for (const ProcessAnswer& process : run.processes) {
    const bool same = finding.rank ? process.kind == ProcessKind::kRank && process.rank.value_or(0) == *finding.rank
                                   : one && finding.only_process;
    if (!same) continue;
    if (finding.site) return site_pct(process, *finding.site);
    switch (finding.symptom) {
      case Symptom::kLateWakes:
        return process.wall_share(main_wakes_ms(process));
      case Symptom::kNotRunning:
      case Symptom::kThrottled:
        return known_no_cpu_pct(process);
      case Symptom::kOwnCost:
        return process.own_cost ? process.own_cost->steps_pct : std::nullopt;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

// What a cause takes in a run.
struct Taken {
  std::optional<double> share_pct;
  std::optional<double> ms_per_step;
  double error_ms = 0;  // of the latter, either way
};

bool sits_on(const RunAnswer& run, const LostTime& lost, const std::optional<int>& rank) {
  if (!rank) return true;
  const ProcessAnswer* process = run.step_member(lost.member);
  return process != nullptr && process->rank.value_or(0) == *rank;
}

// Where the time of the steps is known, a cause that is not there takes 0.
Taken taken_of_steps(const RunAnswer& run, Cause cause, const std::optional<int>& rank) {
  const StepTime& time = *run.step_time;
  std::vector<double> step_ns(time.steps);
  double ns = 0;
  for (const LostTime& lost : time.lost) {
    if (reported_cause(lost.cause) != cause || !sits_on(run, lost, rank)) continue;
    ns += lost.ns;
    for (std::size_t i = 0; i < std::min(step_ns.size(), lost.step_ns.size()); ++i) step_ns[i] += lost.step_ns[i];
  }
  Taken taken;
  taken.share_pct = 100 * ns / time.length_ns;
  if (run.steps.lengths.count == 0 || time.steps == 0) return taken;
  taken.ms_per_step = 1e-6 * ns / static_cast<double>(time.steps);
  taken.error_ms = 1e-6 * mean_of_steps(step_ns).error_ns;
  return taken;
}

// `any`: that finding, in either run; `own`: in this one, or nullptr.
Taken taken_in(const RunAnswer& run, const Finding& any, const Finding* own, std::optional<double> step_ms) {
  if (any.symptom == Symptom::kLostTime && run.step_time && run.step_time->length_ns > 0)
    return taken_of_steps(run, any.cause, any.rank);
  Taken taken;
  if (own != nullptr)
    taken.share_pct = own->share_pct;
  else if (any.symptom != Symptom::kLostTime)
    taken.share_pct = share_in(run, any).value_or(0);
  if (own != nullptr && own->ms_per_step)
    taken.ms_per_step = own->ms_per_step;
  else if (taken.share_pct && step_ms)
    taken.ms_per_step = *taken.share_pct * *step_ms / 100;
  return taken;
}

bool differs(double a, double b, double least) {
  return std::abs(b - a) > std::max(least, kFindingShare * std::max(a, b));
}

// What nobody knows of one of them is no change. In time, where steps have one: the share of what stayed the same grows when something else shrinks.
Change change_of(const FindingChange& change, const Taken& a, const Taken& b, std::optional<double> step_ms) {
  if (!a.share_pct || !b.share_pct) return Change::kSame;
  double own_a = *a.share_pct, own_b = *b.share_pct, least = kFindingPoints;
  if (a.ms_per_step && b.ms_per_step && step_ms) {
    own_a = *a.ms_per_step;
    own_b = *b.ms_per_step;
    least = std::max(kFindingPoints / 100 * *step_ms, std::sqrt(a.error_ms * a.error_ms + b.error_ms * b.error_ms));
  }
  if (!differs(own_a, own_b, least)) return Change::kSame;
  if (!change.in_a) return Change::kAppeared;
  if (!change.in_b) return Change::kGone;
  return own_b > own_a ? Change::kGrew : Change::kShrank;
}

FindingChange compare(const RunAnswer& run_a, const RunAnswer& run_b, const Finding* a, const Finding* b,
                      const StepChange& steps) {
  const Finding& any = a != nullptr ? *a : *b;
  const Taken own_a = taken_in(run_a, any, a, steps.a_median_ms), own_b = taken_in(run_b, any, b, steps.b_median_ms);
  FindingChange change;
  change.cause = any.cause;
  change.rank = any.rank;
  change.in_a = a != nullptr;
  change.in_b = b != nullptr;
  change.a_share_pct = own_a.share_pct;
  change.b_share_pct = own_b.share_pct;
  change.a_ms_per_step = own_a.ms_per_step;
  change.b_ms_per_step = own_b.ms_per_step;
  change.change = change_of(change, own_a, own_b, steps.a_median_ms);
  return change;
}

}  // namespace

std::vector<FindingChange> compare_findings(const RunAnswer& a, const RunAnswer& b, const StepChange& steps) {
  const std::map<FindingKey, Finding> own_a = heaviest(a), own_b = heaviest(b);
  std::vector<FindingChange> changes;
  for (const auto& [key, finding] : own_a) {
    const auto other = own_b.find(key);
    changes.push_back(compare(a, b, &finding, other == own_b.end() ? nullptr : &other->second, steps));
  }
  for (const auto& [key, finding] : own_b)
    if (!own_a.contains(key)) changes.push_back(compare(a, b, nullptr, &finding, steps));
  const auto weight = [](const FindingChange& one) {
    const double by = std::abs(one.b_share_pct.value_or(0) - one.a_share_pct.value_or(0));
    return std::pair(one.change == Change::kSame, -by);
  };
  std::stable_sort(changes.begin(), changes.end(),
                   [&](const FindingChange& l, const FindingChange& r) { return weight(l) < weight(r); });
  return changes;
}

}  // namespace hostprobe::analysis
