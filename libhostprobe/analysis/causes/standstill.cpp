// standstill.cpp: ranks wait in a collective that another one does not enter. A job that stands still has no other cause worth
// reading.
#include "detectors.h"

namespace hostprobe::analysis {
namespace {

constexpr double kStandsStillMs = 5000;  // a checkpoint takes seconds too

}  // namespace

std::optional<Finding> detect_standstill(const RunAnswer& run) {
  if (run.stuck.empty() || run.stuck.front().since_ms < kStandsStillMs) return std::nullopt;
  const StuckCollective& stuck = run.stuck.front();
  const MissingRank& first = stuck.missing.front();
  Finding finding;
  finding.cause = Cause::kSlowRank;
  finding.symptom = Symptom::kJobStandsStill;
  finding.rank = first.job_rank.value_or(first.rank);
  finding.share_pct = 100;
  finding.evidence.add(StandstillEvidence{.op = stuck.operation,
                                          .sequence = stuck.sequence,
                                          .comm = stuck.communicator,
                                          .missing = stuck.missing.size(),
                                          .arrived = stuck.arrived,
                                          .ranks = stuck.ranks,
                                          .since_ms = stuck.since_ms});
  return finding;
}

}  // namespace hostprobe::analysis
