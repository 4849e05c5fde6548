// gpu_stalls.cpp: calls that are to give the GPU work, or memory, and wait for it instead.
#include "detectors.h"

#include "process_finding.h"

namespace hostprobe::analysis {

std::optional<Finding> detect_gpu_stalls(const RunAnswer& run, const ProcessAnswer& process) {
  const GpuStall &memory = process.syncs.memory, &copies = process.syncs.copies;
  const bool is_memory = memory.share_pct >= copies.share_pct;
  const GpuStall& stall = is_memory ? memory : copies;
  if (stall.share_pct < least_share_pct(Symptom::kGpuStalls) || is_for_lack_of_cpu(process, stall.share_pct))
    return std::nullopt;
  const Cause cause = is_memory ? Cause::kAllocStall : Cause::kPageableCopy;
  Finding finding = process_finding(run, process, Symptom::kGpuStalls, cause, stall.share_pct);
  finding.evidence.add(GpuStallsEvidence{.count = stall.count, .total_ms = stall.total_ms()});
  return finding;
}

}  // namespace hostprobe::analysis
