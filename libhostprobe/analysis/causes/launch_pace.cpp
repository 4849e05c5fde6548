// launch_pace.cpp: launching is what the program does for most of its life, and the GPU is hardly waited for.
#include "detectors.h"

#include "process_finding.h"

namespace hostprobe::analysis {

std::optional<Finding> detect_launch_pace(const RunAnswer& run, const ProcessAnswer& process) {
  // That it waits little for the GPU is known only where all of its calls are.
  if (is_read_in_part(process)) return std::nullopt;
  const LaunchAnswer& launches = process.launches;
  const double span_pct = process.wall_share(launches.span_ms), least_pct = least_share_pct(Symptom::kLaunchPace);
  const double sync_pct = process.syncs.share_pct, own_pct = span_pct - sync_pct - no_cpu_pct(process);
  if (launches.gap.count() == 0 || span_pct < least_pct || sync_pct >= least_share_pct(Symptom::kGpuWaits) ||
      is_for_lack_of_cpu(process, own_pct))
    return std::nullopt;
  // A GPU that has work nearly all the time does not wait for launches.
  if (const auto idle_pct = gpu_idle_pct(process); idle_pct && *idle_pct < least_pct) return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kLaunchPace, Cause::kLaunchBound, own_pct);
  finding.evidence.add(LaunchPaceEvidence{.launches = launches.call.count(),
                                          .kernels = launches.kernels,
                                          .call_p50_us = 1e-3 * launches.call.percentile_ns(50),
                                          .gap_p50_us = 1e-3 * launches.gap.percentile_ns(50),
                                          .sync_pct = sync_pct});
  return finding;
}

}  // namespace hostprobe::analysis
