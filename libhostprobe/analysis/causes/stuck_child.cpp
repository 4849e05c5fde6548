// stuck_child.cpp: a process that waits while a child of it can never go on. No other cause is worth reading then.
#include "detectors.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLongMs = 2000;  // as of long waits

}  // namespace

std::optional<Finding> detect_stuck_child(const RunAnswer& run) {
  for (const ProcessAnswer& process : run.processes) {
    const ThreadAnswer* main = process.main_thread();
    if (process.stuck_children.empty() || process.end == EndState::kEnded || main == nullptr) continue;
    if (!main->open_wait || main->open_wait->ms < kLongMs) continue;
    const StuckChild& child = process.stuck_children.front();
    Finding finding;
    finding.cause = Cause::kLockContention;
    finding.symptom = Symptom::kChildStandsStill;
    finding.rank = process.rank;
    finding.pid = process.pid;
    finding.share_pct = process.wall_share(main->open_wait->ms);
    finding.evidence.add(StuckChildEvidence{
        .child_pid = child.pid, .child_in = child.code, .child_line = child.python, .waited_ms = main->open_wait->ms});
    return finding;
  }
  return std::nullopt;
}

}  // namespace hostprobe::analysis
