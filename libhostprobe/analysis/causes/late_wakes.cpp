// late_wakes.cpp: the main thread runs again late after it was woken.
#include "detectors.h"

#include <algorithm>

#include "process_finding.h"

namespace hostprobe::analysis {

std::optional<Finding> detect_late_wakes(const RunAnswer& run, const ProcessAnswer& process) {
  Histogram wakes;
  for (const WaitSite& site : process.waits) {
    if (site.role == Role::kMain) wakes.add(site.wake);
  }
  const double pct = std::min(100.0, process.wall_share(1e-6 * wakes.total_ns()));
  // A run queue explains them where the thread was in one for as long.
  if (wakes.count() == 0 || pct < least_share_pct(Symptom::kLateWakes) || is_for_lack_of_cpu(process, 0.5 * pct))
    return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kLateWakes, Cause::kUnexplained, pct);
  finding.evidence.add(LateWakesEvidence{.wakes = wakes.count(),
                                         .wake_p50_us = 1e-3 * wakes.percentile_ns(50),
                                         .wake_p99_us = 1e-3 * wakes.percentile_ns(99)});
  return finding;
}

}  // namespace hostprobe::analysis
