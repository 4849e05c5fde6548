// step_findings.cpp: see step_findings.h.
#include "step_findings.h"

#include <algorithm>
#include <map>

#include "analysis/causes/process_finding.h"
#include "analysis/step_time/step_mean.h"
#include "answer/telling_frames.h"
#include "model/samples.h"

namespace hostprobe::analysis {
namespace {

constexpr double kOneRank = 2.0 / 3;  // of a cause, from which on it is that rank's
constexpr double kLongerWork = 0.8;   // of all waiting for longer work: on a busy machine one rank has 0.68 by chance

struct CauseSum {
  double ns = 0;
  std::vector<const LostTime*> ranks;  // heaviest first
  std::vector<double> step_ns;
};

std::map<Cause, CauseSum> by_cause(const StepTime& time) {
  std::map<Cause, CauseSum> causes;
  for (const LostTime& lost : time.lost) {
    CauseSum& sum = causes[lost.cause];
    sum.ns += lost.ns;
    sum.ranks.push_back(&lost);
    sum.step_ns.resize(std::max(sum.step_ns.size(), lost.step_ns.size()));
    for (std::size_t i = 0; i < lost.step_ns.size(); ++i) sum.step_ns[i] += lost.step_ns[i];
  }
  return causes;
}

// Ranks that wait now for the one and now for the other are even.
bool is_fault(Cause cause, const CauseSum& sum) {
  return cause != Cause::kUnevenWork || sum.ranks.front()->ns >= kLongerWork * sum.ns;
}

// `call`: that the thread waits in. Polling helps where semaphores are waited for.
Fix fix_of(Cause cause, CallKind call) {
  const Fix fix = usual_fix(cause);
  return fix == Fix::kSpin && call != CallKind::kSemaphore ? Fix::kNone : fix;
}

void add_site(const LostSite& site, Evidence& evidence) {
  if (site.samples > 0)
    evidence.add(SamplesEvidence{.samples = site.samples,
                                 .site_pct = site.sampled_pct,
                                 .site_low_pct = site.low_pct,
                                 .site_high_pct = site.high_pct});
  if (const TransferSite& moved = site.transfer; moved.us > 0) {
    TransferEvidence transfer{.bytes = moved.bytes, .transfer_us = moved.us, .bus_gb_s = moved.bus_gb_s};
    if (moved.usual_bus_gb_s > 0) transfer.usual_bus_gb_s = moved.usual_bus_gb_s;
    if (moved.pcie_bus_gb_s > 0) transfer.pcie_bus_gb_s = moved.pcie_bus_gb_s;
    evidence.add(transfer);
  }
  if (!site.awaited.empty()) evidence.add(AwaitedEvidence{.awaited = site.awaited});
}

// The call that it was in, or where most of its samples are; "": neither is known.
std::string holder_place(const LostSite& site, const ProcessAnswer* process) {
  if (!site.holder_in.empty() || process == nullptr) return site.holder_in;
  return usual_place(*process, site.holder_tid);
}

void add_holder(const LostSite& site, const ProcessAnswer* process, Evidence& evidence) {
  if (site.holder.empty()) return;
  evidence.add(HolderEvidence{.held_by = site.holder,
                              .held_by_tid = site.holder_tid,
                              .held_by_name = site.holder_title,
                              .held_in = holder_place(site, process)});
}

void add_evidence(const StepTime& time, const ProcessAnswer* process, const CauseSum& sum, Evidence& evidence) {
  const LostTime& most = *sum.ranks.front();
  std::uint64_t pieces = 0;
  for (const LostTime* one : sum.ranks) pieces += one->pieces;
  const auto steps = std::count_if(sum.step_ns.begin(), sum.step_ns.end(), [](double ns) { return ns > 0; });
  evidence.add(StepsEvidence{.steps = time.steps,
                             .pieces = pieces,
                             .steps_with_it = static_cast<std::uint64_t>(steps),
                             .code = most.site.code,
                             .held_up = most.site.held_up});
  add_site(most.site, evidence);
  add_holder(most.site, process, evidence);
  if (most.longest.empty()) return;
  const LostPiece& longest = most.longest.front();
  evidence.add(
      LongestPieceEvidence{.longest_ms = longest.ms, .longest_at_ms = longest.at_ms, .longest_tid = longest.tid});
}

Finding finding_of(const RunAnswer& run, Cause cause, const CauseSum& sum) {
  const StepTime& time = *run.step_time;
  const LostTime& most = *sum.ranks.front();
  Finding finding;
  finding.cause = reported_cause(cause);
  finding.symptom = Symptom::kLostTime;
  finding.share_pct = 100 * sum.ns / time.length_ns;
  finding.of_steps = run.steps.lengths.count > 0;
  if (finding.of_steps) finding.ms_per_step = 1e-6 * sum.ns / static_cast<double>(time.steps);
  if (const auto gain = time.gains.find(cause); gain != time.gains.end()) {
    finding.gain_pct = 100 * gain->second.ns / time.length_ns;
    finding.gain_limit = gain->second.limit;
    if (time.steps > 1) {  // one alone says nothing of how they differ
      finding.gain_low_pct = 100 * gain->second.low_ns / time.length_ns;
      finding.gain_high_pct = 100 * gain->second.high_ns / time.length_ns;
    }
  }
  finding.fix = fix_of(cause, most.site.kind);
  finding.site = FindingSite{most.site.function, most.site.library, most.site.role, most.site.stack, most.site.kind};
  const ProcessAnswer* process = run.step_member(most.member);
  const bool is_one = !most.of_all && (run.step_members.size() == 1 || most.ns >= kOneRank * sum.ns);
  finding.without_gpu = process != nullptr && process->launches.call.count() == 0;
  if (process != nullptr && is_one) {
    if (process->kind == ProcessKind::kRank) finding.rank = process->rank.value_or(0);
    finding.pid = process->pid;
  }
  finding.only_process = run.step_members.size() == 1;
  add_evidence(time, process, sum, finding.evidence);
  return finding;
}

bool launches_nothing(const RunAnswer& run) {
  for (std::uint32_t i = 0; i < run.step_members.size(); ++i)
    if (const ProcessAnswer* process = run.step_member(i); process == nullptr || process->launches.call.count() > 0)
      return false;
  return true;
}

double quarter_of(std::vector<double> ns) {
  const auto quarter = ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 4);
  std::nth_element(ns.begin(), quarter, ns.end());
  return *quarter;
}

bool is_code(Cause cause) { return cause == Cause::kPythonOverhead || cause == Cause::kHostWork; }

// By how much one rank computes longer than another in the mean step, whatever kind of code that is: samples divide it, and differ by
// chance.
double beyond_other_ranks_ns(const RunAnswer& run) {
  std::vector<double> ns(run.step_members.size());
  for (const LostTime& lost : run.step_time->lost)
    if ((is_code(lost.cause) || lost.cause == Cause::kGpuBound || lost.cause == Cause::kUnevenWork) &&
        lost.member < ns.size())
      ns[lost.member] += mean_of_steps(lost.own_step_ns).ns;
  const auto [least, most] = std::minmax_element(ns.begin(), ns.end());
  return ns.empty() ? 0 : *most - *least;
}

// No place of its own: neither samples nor a call stand for it. Longer work of a rank is one of samples alone.
bool is_without_place(Cause cause, const LostSite& site) {
  return site.samples == 0 && (cause == Cause::kUnevenWork || site.function.empty());
}

// Ranks are late by turns, each by something else; on a busy machine all code is slower. Where no place in the code stands out, little
// of it is chance.
bool is_chance(const RunAnswer& run, Cause cause, const CauseSum& sum) {
  constexpr double kLittle = 2;  // times the least share
  const auto gain = run.step_time->gains.find(cause);
  if (cause != Cause::kUnevenWork && !is_code(cause)) return false;
  if (!is_without_place(cause, sum.ranks.front()->site) || gain == run.step_time->gains.end()) return false;
  return 100 * gain->second.ns < kLittle * least_share_pct(cause) * run.step_time->length_ns;
}

// Code that a program without a GPU runs in every step, on every rank, is what it is there for. A loss is what one rank has beyond the
// others, or some steps beyond the others; or the step is little else.
bool is_usual_work(const RunAnswer& run, Cause cause, const CauseSum& sum) {
  constexpr double kBeyondRanks = 0.25, kBeyondSteps = 0.5;  // steps differ by themselves, too
  constexpr double kLittleElse = 2.0 / 3;
  const LostSite& site = sum.ranks.front()->site;
  if (!is_code(cause) || (site.samples == 0 && !site.function.empty()) || !launches_nothing(run)) return false;
  if (sum.ns >= kLittleElse * run.step_time->length_ns) return false;
  double most_ns = 0, beyond_ns = 0;
  for (const LostTime* rank : sum.ranks) {
    const std::vector<double>& step_ns = rank->of_all ? rank->step_ns : rank->own_step_ns;
    if (step_ns.empty()) return false;
    const double ns = mean_of_steps(step_ns).ns;
    most_ns = std::max(most_ns, ns);
    beyond_ns = std::max(beyond_ns, ns - quarter_of(step_ns));
  }
  return beyond_ns < kBeyondSteps * most_ns && beyond_other_ranks_ns(run) < kBeyondRanks * most_ns;
}

// Nearly every program looks once in a step at what it has computed, and whether it could go on without is known to it alone. A little of
// that is no advice: it returns, finds no GPU that is busy, and gives it work.
bool looks_once(const RunAnswer& run, Cause cause, const CauseSum& sum) {
  constexpr double kUsual = 2.5;  // calls in a step: for a value, and at the end of the step
  constexpr double kLittle = 2;   // times the least share
  if (cause != Cause::kSyncCalls || 100 * sum.ns >= kLittle * least_share_pct(cause) * run.step_time->length_ns)
    return false;
  return std::all_of(sum.ranks.begin(), sum.ranks.end(), [&](const LostTime* rank) {
    const ProcessAnswer* process = run.step_member(rank->member);
    return process != nullptr && static_cast<double>(process->in_steps().syncs.time.count()) <=
                                     kUsual * static_cast<double>(run.steps.lengths.count);
  });
}

bool matters(const RunAnswer& run, Cause cause, const CauseSum& sum) {
  const StepTime& time = *run.step_time;
  const double least_pct = least_share_pct(cause);
  if (least_pct == 0 || !is_fault(cause, sum) || 100 * sum.ns < least_pct * time.length_ns) return false;
  if (is_usual_work(run, cause, sum) || is_chance(run, cause, sum) || looks_once(run, cause, sum)) return false;
  if (cause == Cause::kProcessStopped) return true;  // each was seen: few of them are no accident of what was looked at
  const StepMean mean = mean_of_steps(sum.step_ns);
  return mean.ns > mean.error_ns || sum.step_ns.size() < 2 || 100 * sum.ns >= 2 * least_pct * time.length_ns;
}

// Without it the steps take as long: something else takes that time in any case. So it may be too where hardly any gain is expected, and
// none is as likely.
bool costs_nothing(const Finding& finding) {
  constexpr double kLeastGainPct = 1;
  if (!finding.gain_pct) return false;
  return finding.gain_high_pct.value_or(*finding.gain_pct) < kLeastGainPct ||
         (*finding.gain_pct < kLeastGainPct && finding.gain_low_pct.value_or(*finding.gain_pct) <= 0);
}

// The function of the program's that runs there, as samples say; "": not known.
std::string program_place(const Finding& finding) {
  if (!finding.site || finding.site->stack.empty() || finding.evidence.find<SamplesEvidence>() == nullptr) return {};
  const PythonPlace place = python_place(program_frame(finding.site->stack));
  return place.function + " " + place.file;
}

bool is_own_work(const Finding& finding) { return is_code(finding.cause); }

// Longer work of a rank is work of its own, and one place runs Python and what that calls.
bool are_one(const Finding& l, const Finding& r) {
  if (!is_own_work(l) || !is_own_work(r) || l.rank != r.rank) return false;
  if (l.cause == Cause::kHostWork && r.cause == Cause::kHostWork) return true;
  const std::string place = program_place(l);
  return !place.empty() && place == program_place(r);
}

void join(Finding& first, const Finding& second) {
  const bool is_less = second.share_pct < first.share_pct;
  Finding joined = is_less ? first : second;
  const Finding& other = is_less ? second : first;
  const auto add = [](std::optional<double>& to, const std::optional<double>& more) {
    if (to || more) to = to.value_or(0) + more.value_or(0);
  };
  joined.share_pct += other.share_pct;
  add(joined.ms_per_step, other.ms_per_step);
  add(joined.gain_pct, other.gain_pct);
  add(joined.gain_low_pct, other.gain_low_pct);
  add(joined.gain_high_pct, other.gain_high_pct);
  first = std::move(joined);
}

void join_own_work(std::vector<Finding>& findings) {
  for (auto first = findings.begin(); first != findings.end(); ++first)
    for (auto second = first + 1; second != findings.end();) {
      if (!are_one(*first, *second)) {
        ++second;
        continue;
      }
      join(*first, *second);
      second = findings.erase(second);
    }
}

}  // namespace

std::vector<Finding> find_in_steps(const RunAnswer& run) {
  std::vector<Finding> findings;
  if (!run.step_time || run.step_time->length_ns <= 0) return findings;
  for (const auto& [cause, sum] : by_cause(*run.step_time))
    if (matters(run, cause, sum)) findings.push_back(finding_of(run, cause, sum));
  std::erase_if(findings, costs_nothing);
  join_own_work(findings);
  // By what would be gained, as far as that is known of all.
  const bool all_known = std::all_of(findings.begin(), findings.end(),
                                     [](const Finding& finding) { return finding.gain_pct.has_value(); });
  std::stable_sort(findings.begin(), findings.end(), [all_known](const Finding& l, const Finding& r) {
    return all_known ? *l.gain_pct > *r.gain_pct : l.share_pct > r.share_pct;
  });
  return findings;
}

}  // namespace hostprobe::analysis
