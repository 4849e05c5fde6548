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
  const std::optional<double> steps_pct = process.own_cost->steps_pct;
  const double pct = steps_pct.value_or(process.wall_share(process.own_cost->total_ms()));
  if (pct < least_share_pct(Symptom::kOwnCost)) return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kOwnCost, Cause::kOwnCost, pct);
  finding.of_steps = steps_pct.has_value();
  finding.evidence.add(OwnCostEvidence{.total_ms = process.own_cost->total_ms()});
  return finding;
}

}  // namespace hostprobe::analysis
