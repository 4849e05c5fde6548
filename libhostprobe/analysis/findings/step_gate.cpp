// step_gate.cpp: see step_gate.h.
#include "step_gate.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace hostprobe::analysis {
namespace {

// So many steps of each run lie apart by chance in fewer than one of 100 cases.
constexpr std::size_t kFewestSteps = 5;

bool has_steps(const RunAnswer& run, const ProcessAnswer& process) {
  return run.ranks == 0 || process.kind == ProcessKind::kRank;
}

// "8", or "4 to 8" where ranks have different ones; "": not known.
std::string cpus_text(const RunAnswer& run) {
  std::set<std::uint64_t> counts;
  for (const ProcessAnswer& process : run.processes)
    if (process.cpus > 0 && has_steps(run, process)) counts.insert(process.cpus);
  if (counts.empty()) return "";
  const std::string least = std::to_string(*counts.begin()), most = std::to_string(*counts.rbegin());
  return least == most ? least : least + " to " + most;
}

std::string source_text(const StepAnswer& steps) {
  return steps.by_optimizer ? "torch's optimizer" : step_source_name(steps);
}

std::vector<DifferingSetting> differing_settings(const RunAnswer& a, const RunAnswer& b) {
  std::vector<DifferingSetting> differing;
  const auto compare = [&differing](const char* name, const std::string& in_a, const std::string& in_b) {
    if (!in_a.empty() && !in_b.empty() && in_a != in_b) differing.push_back({name, in_a, in_b});
  };
  compare("ranks", std::to_string(a.ranks), std::to_string(b.ranks));
  compare("hosts", std::to_string(a.hosts.size()), std::to_string(b.hosts.size()));
  compare("mode", a.mode, b.mode);
  compare("steps", source_text(a.steps), source_text(b.steps));
  compare("CPUs of a process", cpus_text(a), cpus_text(b));
  return differing;
}

bool any_read_in_part(const RunAnswer& run) {
  return !run.unreadable.empty() || std::any_of(run.processes.begin(), run.processes.end(), is_read_in_part);
}

// Of few steps no interval can be drawn: then the change is held by the shortest of one run and the longest of the other.
void set_range(const StepChange& steps, StepGate& gate) {
  const auto change = [](double from, double to) { return 100 * (to - from) / from; };
  if (steps.low_pct) {
    gate.low_pct = steps.low_pct;
    gate.high_pct = steps.high_pct;
  } else if (*steps.a_min_ms > 0) {
    gate.low_pct = change(*steps.a_max_ms, *steps.b_min_ms);
    gate.high_pct = change(*steps.a_min_ms, *steps.b_max_ms);
  }
}

void decide(GateResult result, GateReason reason, StepGate& gate) {
  gate.result = result;
  gate.reason = reason;
}

void judge_change(const StepChange& steps, StepGate& gate) {
  const bool few = !steps.low_pct, enough = std::min(gate.a_count, gate.b_count) >= kFewestSteps;
  if ((few && !enough) || !gate.low_pct) return decide(GateResult::kCannotTell, GateReason::kFewSteps, gate);
  if (steps.significant && *gate.low_pct > gate.limit_pct)
    return decide(GateResult::kSlower, GateReason::kMeasured, gate);
  if (*gate.high_pct <= gate.limit_pct) return decide(GateResult::kNotSlower, GateReason::kMeasured, gate);
  if (few) return decide(GateResult::kCannotTell, GateReason::kFewSteps, gate);
  if (gate.noise_pct > gate.limit_pct) return decide(GateResult::kCannotTell, GateReason::kNoise, gate);
  // The best estimate is within the limit, and the steps are even enough to have shown a change of that size.
  if (*gate.change_pct <= gate.limit_pct) return decide(GateResult::kNotSlower, GateReason::kMeasured, gate);
  decide(GateResult::kCannotTell, GateReason::kLimitInInterval, gate);
}

}  // namespace

StepGate judge_steps(const StepChange& steps, const RunAnswer& a, const RunAnswer& b, double limit_pct) {
  StepGate gate;
  gate.limit_pct = limit_pct;
  gate.change_pct = steps.change_pct;
  gate.noise_pct = steps.noise_pct;
  gate.a_count = steps.a_count;
  gate.b_count = steps.b_count;
  if (!steps.change_pct) return gate;
  set_range(steps, gate);
  gate.differing = differing_settings(a, b);
  if (!gate.differing.empty())
    decide(GateResult::kCannotTell, GateReason::kSettingsDiffer, gate);
  else if (any_read_in_part(a) || any_read_in_part(b))
    decide(GateResult::kCannotTell, GateReason::kReadInPart, gate);
  else
    judge_change(steps, gate);
  return gate;
}

}  // namespace hostprobe::analysis
