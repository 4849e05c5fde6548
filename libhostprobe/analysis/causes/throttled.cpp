// throttled.cpp: the main thread had no CPU because the quota of its group was used up.
#include "detectors.h"

#include "pool_supply.h"
#include "process_finding.h"
#include "supply.h"

namespace hostprobe::analysis {

std::optional<Finding> detect_throttled(const RunAnswer& run, const ProcessAnswer& process) {
  const double pct = throttled_pct(process);
  if (pct < least_share_pct(Symptom::kThrottled)) return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kThrottled, Cause::kCpuThrottle, pct);
  finding.fix = Fix::kRaiseQuota;
  const QuotaAnswer& quota = *process.quota;
  ThrottledEvidence evidence{.periods = quota.periods, .throttled_ms = 1e-6 * quota.throttled_ns, .group = quota.group};
  if (quota.cpus > 0) evidence.quota_cpus = quota.cpus;
  if (const std::optional<Cpus> cpus = cpus_of(run, process)) {
    evidence.cpus_used = cpus->used;
    evidence.cpus_wanted = cpus->wanted;
  }
  finding.evidence.add(std::move(evidence));
  add_pools(finding, run, process);
  return finding;
}

}  // namespace hostprobe::analysis
