// launch_pace.cpp: see launch_pace.h.
#include "launch_pace.h"

namespace hostprobe::analysis {

void add_launch_pace(Finding& finding, const ProcessAnswer& process) {
  const LaunchAnswer& launches = process.launches;
  if (finding.cause != Cause::kLaunchBound || launches.gap.count() == 0) return;
  finding.evidence.add(LaunchPaceEvidence{.launches = launches.call.count(),
                                          .kernels = launches.kernels,
                                          .call_p50_us = 1e-3 * launches.call.percentile_ns(50),
                                          .gap_p50_us = 1e-3 * launches.gap.percentile_ns(50),
                                          .sync_pct = process.syncs.share_pct});
}

}  // namespace hostprobe::analysis
