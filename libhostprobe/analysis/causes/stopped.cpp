// stopped.cpp: somebody had stopped the process: a signal, a debugger, a frozen group.
#include "detectors.h"

#include "process_finding.h"

namespace hostprobe::analysis {

std::optional<Finding> detect_stopped(const RunAnswer& run, const ProcessAnswer& process) {
  double ns = 0;
  const Window* longest = nullptr;
  for (const Window& halt : process.halts) {
    ns += halt.length_ns();
    if (longest == nullptr || halt.length_ns() > longest->length_ns()) longest = &halt;
  }
  const double pct = process.wall_share(1e-6 * ns);
  if (longest == nullptr || pct < least_share_pct(Symptom::kStopped)) return std::nullopt;
  Finding finding = process_finding(run, process, Symptom::kStopped, Cause::kProcessStopped, pct);
  finding.evidence.add(StoppedEvidence{.count = process.halts.size(),
                                       .total_ms = 1e-6 * ns,
                                       .first_at_ms = 1e-6 * process.halts.front().begin_ns,
                                       .last_at_ms = 1e-6 * process.halts.back().begin_ns,
                                       .longest_ms = 1e-6 * longest->length_ns(),
                                       .longest_at_ms = 1e-6 * longest->begin_ns});
  return finding;
}

}  // namespace hostprobe::analysis
