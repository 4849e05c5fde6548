// own_cost.cpp: hostprobe itself.
#include "detectors.h"

#include "process_finding.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastWallMs = 1000;  // below, the start of the writer is most of the cost and says nothing

}  // namespace

std::optional<Finding> detect_own_cost(const RunAnswer& run, const ProcessAnswer& process) {
  if (!process.own_cost || process.wall_ms < kLeastWallMs) return std::nullopt;
  // What it costs beside the steps makes nothing longer.
  const OwnCost& cost = *process.own_cost;
  const double pct = cost.steps_pct.value_or(0);
  if (pct < least_share_pct(Symptom::kOwnCost)) return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kOwnCost, Cause::kOwnCost, pct);
  finding.of_steps = true;
  finding.evidence.add(OwnCostEvidence{.total_ms = cost.total_ms(),
                                       .calls_ms = cost.records_ms + cost.quiet_ms,
                                       .stacks_ms = cost.slow_ms,
                                       .switches_ms = cost.switches_ms,
                                       .samples_ms = cost.samples_ms,
                                       .own_thread_ms = cost.writer_ms});
  return finding;
}

}  // namespace hostprobe::analysis
