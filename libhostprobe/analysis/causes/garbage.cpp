// garbage.cpp: see garbage.h. And the symptom: Python stops to collect garbage.
#include "garbage.h"

#include <algorithm>

#include "detectors.h"
#include "process_finding.h"

namespace hostprobe::analysis {
namespace {

constexpr double kMostOfThem = 0.5;    // of the time of all, from which on collections are of that kind
constexpr double kNothingOfIt = 0.01;  // of what lives: who collects less collects nothing

bool has_steps(const ProcessAnswer& process) { return process.steps.end_ns > process.steps.begin_ns; }

// Of the steps, where there are any; else of the later half of its life, because imports make most garbage.
double garbage_pct(const ProcessAnswer& process) {
  const StepAnswer& steps = process.steps;
  const GcAnswer& gc = *process.gc;
  if (has_steps(process)) return 100 * gc.in_steps_ns / (steps.end_ns - steps.begin_ns);
  const double all_pct = process.wall_share(1e-6 * gc.time.total_ns());
  const bool is_placed = gc.placed_ns >= 0.9 * gc.time.total_ns() && gc.later_half_ns > 0;
  return is_placed ? std::min(all_pct, 100 * gc.late_ns / gc.later_half_ns) : all_pct;
}

bool is_requested(const GcWork& work) { return work.ns > 0 && work.requests_ns >= kMostOfThem * work.ns; }

// What grows lives on, and what a collection frees of it is nothing to what it looks at.
bool lives_on(const GcWork& work) {
  return work.blocks.grow() &&
         static_cast<double>(work.collected) < kNothingOfIt * (work.blocks.last - work.blocks.first);
}

GarbageWorkEvidence work_evidence(const GcWork& work, const StepAnswer& steps) {
  GarbageWorkEvidence seen{
      .collected = work.collected, .requests = work.requests, .requests_pct = 100 * work.requests_ns / work.ns};
  if (work.requests > 0) seen.requests_collected = work.requests_collected;
  if (work.blocks.last > 0) seen.living_blocks = static_cast<std::uint64_t>(work.blocks.last);
  if (work.blocks.grow()) {
    seen.new_blocks_per_s = 1e9 * work.blocks.per_ns;
    if (!steps.steps.empty())
      seen.new_blocks_per_step =
          work.blocks.per_ns * (steps.end_ns - steps.begin_ns) / static_cast<double>(steps.steps.size());
  }
  if (work.last_pause_ns > 0)
    seen.first_pause_ms = 1e-6 * work.first_pause_ns, seen.last_pause_ms = 1e-6 * work.last_pause_ns;
  return seen;
}

void add_collections(Finding& finding, const ProcessAnswer& process) {
  const GcAnswer& gc = *process.gc;
  const auto& [oldest, times] = *gc.by_generation.rbegin();
  finding.evidence.add(GarbageEvidence{.count = gc.time.count(),
                                       .total_ms = 1e-6 * gc.time.total_ns(),
                                       .max_ms = 1e-6 * gc.time.max_ns(),
                                       .oldest_generation = oldest,
                                       .oldest_count = times.count(),
                                       .begins_in = collecting_place(process)});
  if (gc.work.ns <= 0) return;
  finding.evidence.add(work_evidence(gc.work, process.steps));
  if (is_requested(gc.work)) {
    finding.fix = Fix::kNoCollect;
    finding.site = FindingSite{"gc.collect", "", Role::kMain, gc.work.requests_stack, CallKind::kOther};
  } else if (lives_on(gc.work)) {
    finding.fix = Fix::kFreeze;
  }
}

bool has_collections(const ProcessAnswer& process) { return process.gc && process.gc->time.count() > 0; }

}  // namespace

void add_garbage(Finding& finding, const RunAnswer& run) {
  const ProcessAnswer* most = nullptr;
  for (std::uint32_t i = 0; i < run.step_members.size(); ++i) {
    const ProcessAnswer* process = run.step_member(i);
    if (process == nullptr || !has_collections(*process)) continue;
    if (finding.pid != 0 && process->pid != finding.pid) continue;
    if (most == nullptr || process->gc->in_steps_ns > most->gc->in_steps_ns) most = process;
  }
  if (most != nullptr) add_collections(finding, *most);
}

// A GPU that has work meanwhile does not lose the time.
std::optional<Finding> detect_garbage(const RunAnswer& run, const ProcessAnswer& process) {
  if (!has_collections(process)) return std::nullopt;
  const double pct = garbage_pct(process), least_pct = least_share_pct(Symptom::kGarbage);
  if (pct < least_pct || gpu_idle_pct(process).value_or(100) < least_pct) return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kGarbage, Cause::kGcPause, pct);
  finding.of_steps = has_steps(process);
  add_collections(finding, process);
  return finding;
}

}  // namespace hostprobe::analysis
