// standstill.cpp: ranks wait in a collective that another one does not enter. A job that stands still has no other cause worth
// reading.
#include <algorithm>

#include "answer/telling_frames.h"
#include "detectors.h"

namespace hostprobe::analysis {
namespace {

constexpr double kStandsStillMs = 5000;  // a checkpoint takes seconds too

// Where that rank's main thread has been for long; "": in no wait that is.
std::string long_wait_in(const RunAnswer& run, int rank) {
  for (const LongWait& wait : run.long_waits)
    if (std::find(wait.ranks.begin(), wait.ranks.end(), rank) != wait.ranks.end())
      return wait.python.empty() ? wait.function + " (" + wait.library + ")" : wait.python;
  return {};
}

Finding finding_of(const RunAnswer& run, int rank, StandstillEvidence seen) {
  Finding finding;
  finding.cause = Cause::kSlowRank;
  finding.symptom = Symptom::kJobStandsStill;
  finding.rank = rank;
  finding.share_pct = 100;
  seen.missing_in = long_wait_in(run, rank);
  finding.evidence.add(seen);
  return finding;
}

// By torch.distributed, whatever moves its data.
bool is_for_peers(const LongWait& wait) { return file_of_frame(wait.python) == "distributed_c10d.py"; }

// Without NCCL no record says which exchange a rank has entered. Where all main threads have stood still for long, some of them in one and
// the others elsewhere, these do not enter it.
std::optional<Finding> found_by_waits(const RunAnswer& run) {
  StandstillEvidence seen{.since_ms = 1e300};
  std::optional<int> missing;
  for (const LongWait& wait : run.long_waits) {
    if (wait.ended || 1e3 * wait.least_s < kStandsStillMs || wait.ranks.empty()) return std::nullopt;
    seen.ranks += wait.ranks.size();
    if (!is_for_peers(wait)) {
      seen.missing += wait.ranks.size();
      if (!missing) missing = wait.ranks.front();
      continue;
    }
    if (seen.op.empty()) seen.op = wait.python.substr(0, wait.python.find(" ("));
    seen.arrived += wait.ranks.size();
    seen.since_ms = std::min(seen.since_ms, 1e3 * wait.least_s);
  }
  if (!missing || seen.arrived == 0 || seen.ranks != run.ranks) return std::nullopt;
  return finding_of(run, *missing, seen);
}

}  // namespace

std::optional<Finding> detect_standstill(const RunAnswer& run) {
  if (run.stuck.empty()) return found_by_waits(run);
  const StuckCollective& stuck = run.stuck.front();
  if (stuck.since_ms < kStandsStillMs) return std::nullopt;
  const MissingRank& first = stuck.missing.front();
  return finding_of(run, first.job_rank.value_or(first.rank),
                    {.op = stuck.operation,
                     .sequence = stuck.sequence,
                     .comm = stuck.communicator,
                     .missing = stuck.missing.size(),
                     .arrived = stuck.arrived,
                     .ranks = stuck.ranks,
                     .since_ms = stuck.since_ms});
}

}  // namespace hostprobe::analysis
