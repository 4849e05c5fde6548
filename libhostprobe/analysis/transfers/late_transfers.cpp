// late_transfers.cpp: see late_transfers.h.
#include "late_transfers.h"

#include <algorithm>
#include <numeric>

#include "analysis/measures/run_delay.h"
#include "transfer_share.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastOfSteps = 0.01;

// Kernels differ by some microseconds; who waits for a CPU waits longer than a thread takes to be on one that is idle.
double late_ns(const TransferTimes& kind) {
  if (kind.link_ns <= 0) return 0;
  double ns = 0;
  for (const double one : kind.ns) ns += std::max(0.0, one - kind.link_ns - kUsualWayBackNs);
  return ns;
}

// For how long its progress threads were ready and had no CPU, in the steps.
double delay_ns(const ProcessAnswer& member, double steps_ns) {
  double ns = 0;
  for (const ThreadAnswer& thread : member.threads)
    if (thread.role == Role::kNcclProgress) ns += 1e6 * thread.time.run_delay_ms.value_or(0);
  const double wall_ns = 1e6 * member.wall_ms;
  return wall_ns > 0 ? ns * std::min(1.0, steps_ns / wall_ns) : 0;
}

// While the group's CPU time is used up its threads are ready, too.
Cause cause_of(const ProcessAnswer& member, double delay_ns) {
  const auto& quota = member.quota;
  return quota && 2 * quota->throttled_ns >= delay_ns ? Cause::kCpuThrottle : Cause::kCpuContention;
}

}  // namespace

std::vector<double> name_late_transfers(const AllTransferTimes& all, const std::vector<const ProcessAnswer*>& members,
                                        StepTime& time) {
  std::vector<double> left(all.kinds.size(), 1);
  double late_all_ns = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const TransferTimes& kind = all.kinds[i];
    if (kind.sum_ns <= 0) continue;
    left[i] = 1 - late_ns(kind) / kind.sum_ns;
    late_all_ns += (1 - left[i]) * kind.ends_ns;
  }
  std::vector<double> delays_ns;
  for (const ProcessAnswer* member : members) delays_ns.push_back(delay_ns(*member, time.length_ns));
  const double delay_all_ns = std::accumulate(delays_ns.begin(), delays_ns.end(), 0.0);
  const double share = all.sum_ns() > 0 ? late_all_ns / all.sum_ns() : 0, exposed_ns = exposed_transfers_ns(time);
  if (delay_all_ns <= 0 || share * exposed_ns < kLeastOfSteps * time.length_ns) return {};
  // Each of them makes all wait.
  const double reached = std::min(1.0, delay_all_ns / (share * exposed_ns));
  for (double& part : left) part = 1 - reached * (1 - part);
  double taken = 0;
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const double part = reached * share * delays_ns[i] / delay_all_ns;
    if (part <= 0) continue;
    LostTime named;
    named.cause = cause_of(*members[i], delays_ns[i]);
    named.member = i;
    named.site.role = Role::kNcclProgress;
    take_from_transfers(part / (1 - taken), std::move(named), time);
    taken += part;
  }
  return left;
}

}  // namespace hostprobe::analysis
