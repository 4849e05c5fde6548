// gpu_waits.cpp: the program waits for the GPU by calls that are there for it.
#include "detectors.h"

#include "process_finding.h"

namespace hostprobe::analysis {

std::optional<Finding> detect_gpu_waits(const RunAnswer& run, const ProcessAnswer& process) {
  const Histogram& time = process.syncs.time;
  const double pct = process.syncs.share_pct;
  if (time.count() == 0 || pct < least_share_pct(Symptom::kGpuWaits) || is_for_lack_of_cpu(process, pct))
    return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kGpuWaits, Cause::kSyncCalls, pct);
  finding.evidence.add(GpuWaitsEvidence{
      .count = time.count(),
      .total_ms = 1e-6 * time.total_ns(),
      .launches_between = static_cast<double>(process.launches.call.count()) / static_cast<double>(time.count())});
  return finding;
}

}  // namespace hostprobe::analysis
