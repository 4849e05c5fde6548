// late_rank.cpp: the main threads of the others wait for this rank.
#include "detectors.h"

#include <algorithm>

#include "process_finding.h"

namespace hostprobe::analysis {
namespace {

constexpr double kPeerGapPct = 5;  // between the rank that waits most and the one that waits least

bool holds_part(const RunAnswer& run) {
  return std::any_of(run.processes.begin(), run.processes.end(),
                     [](const ProcessAnswer& process) { return is_read_in_part(process); });
}

double waits_for_peers_pct(const ProcessAnswer& process) {
  return main_wait_pct(process.in_steps(), WaitPurpose::kPeers);
}

}  // namespace

std::optional<Finding> detect_late_rank(const RunAnswer& run) {
  const std::vector<const ProcessAnswer*> ranks = leading_processes(run);
  if (run.ranks < 2 || holds_part(run)) return std::nullopt;
  const auto less = [](const ProcessAnswer* l, const ProcessAnswer* r) {
    return waits_for_peers_pct(*l) < waits_for_peers_pct(*r);
  };
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), less);
  const double least_pct = waits_for_peers_pct(**least), most_pct = waits_for_peers_pct(**most);
  if (most_pct - least_pct < kPeerGapPct) return std::nullopt;
  Finding finding = process_finding(run, **least, Symptom::kRankIsLate, Cause::kSlowRank, most_pct - least_pct);
  finding.evidence.add(LateRankEvidence{.waits_pct = least_pct,
                                        .waits_most_rank = static_cast<std::uint64_t>((*most)->rank.value_or(0)),
                                        .waits_most_pct = most_pct});
  finding.of_steps = (*least)->steady != nullptr;
  leave_start_up(**least, finding);
  return finding;
}

}  // namespace hostprobe::analysis
