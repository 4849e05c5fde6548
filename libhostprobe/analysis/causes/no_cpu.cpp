// no_cpu.cpp: the main thread was ready to run, and no quota explains why it had no CPU.
#include "detectors.h"

#include "mask_supply.h"
#include "pool_supply.h"
#include "process_finding.h"
#include "supply.h"

namespace hostprobe::analysis {

std::optional<Finding> detect_no_cpu(const RunAnswer& run, const ProcessAnswer& process) {
  const double pct = no_cpu_pct(process) - throttled_pct(process);
  if (pct < least_share_pct(Symptom::kNotRunning)) return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kNotRunning, Cause::kCpuContention, pct);
  add_supply(finding, run, process);
  add_pools(finding, run, process);
  add_masks(finding, run, process);
  return finding;
}

}  // namespace hostprobe::analysis
