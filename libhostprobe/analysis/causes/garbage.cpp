// garbage.cpp: Python stops to collect garbage.
#include "detectors.h"

#include <algorithm>

#include "process_finding.h"

namespace hostprobe::analysis {
namespace {

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

}  // namespace

// A GPU that has work meanwhile does not lose the time.
std::optional<Finding> detect_garbage(const RunAnswer& run, const ProcessAnswer& process) {
  if (!process.gc || process.gc->time.count() == 0) return std::nullopt;
  const double pct = garbage_pct(process), least_pct = least_share_pct(Symptom::kGarbage);
  if (pct < least_pct || gpu_idle_pct(process).value_or(100) < least_pct) return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kGarbage, Cause::kGcPause, pct);
  finding.of_steps = has_steps(process);
  const auto& [oldest, times] = *process.gc->by_generation.rbegin();
  finding.evidence.add(GarbageEvidence{.count = process.gc->time.count(),
                                       .total_ms = 1e-6 * process.gc->time.total_ns(),
                                       .max_ms = 1e-6 * process.gc->time.max_ns(),
                                       .oldest_generation = oldest,
                                       .oldest_count = times.count()});
  return finding;
}

}  // namespace hostprobe::analysis
