// late_returns.cpp: see late_returns.h.
#include "late_returns.h"

#include <algorithm>

#include "analysis/measures/run_delay.h"

namespace hostprobe::analysis {
namespace {

// Without it the thread were in no such call. Others wait for what comes in any case: the GPU, another rank, a transfer.
bool ends_with_its_call(Cause cause) {
  switch (cause) {
    case Cause::kSyncCalls:
    case Cause::kAllocStall:
    case Cause::kPageableCopy:
    case Cause::kLockContention:
    case Cause::kGilContention:
    case Cause::kDataloaderWait:
    case Cause::kProducerWait:
    case Cause::kRemoteWait:
      return true;
    default:
      return false;
  }
}

}  // namespace

void LateReturns::add_step(double length_ns, const std::vector<std::vector<LostPart>>& ranks) {
  all_ns_ += length_ns * static_cast<double>(ranks.size());
  ++steps_;
  for (const std::vector<LostPart>& parts : ranks)
    for (const LostPart& part : parts) {
      OfRank& rank = ranks_[part.member];
      if (!is_lack_of_cpu(part.cause)) {
        rank.own_ns[part.cause] += part.ns;
        continue;
      }
      rank.without_cpu_ns += part.ns;
      if (part.returns_from == Cause::kGpuBound) continue;
      rank.return_ns[part.returns_from] += part.ns;
      if (&parts == &ranks[part.member]) ++rank.returns[part.returns_from];
    }
}

// On all ranks together: where each loses a little of it, it is the job's. A program that comes back from calls of one kind often has chosen to make
// them, and less of it is a loss. One that waits for its GPU once in a step comes back from there once in any case, wherever it waits.
bool LateReturns::is_loss(Cause cause) const {
  constexpr std::uint64_t kUsual = 3;  // in a step
  double ns = 0;
  std::uint64_t most = 0;  // of a rank
  for (const auto& [member, rank] : ranks_) {
    if (const auto own = rank.own_ns.find(cause); own != rank.own_ns.end()) ns += own->second;
    if (const auto own = rank.returns.find(cause); own != rank.returns.end()) most = std::max(most, own->second);
  }
  if (cause == Cause::kSyncCalls && most <= steps_ + steps_ / 2) return false;
  const double least_pct = least_share_pct(cause) * (most > kUsual * steps_ ? 0.5 : 1);
  return least_pct > 0 && 100 * ns >= least_pct * all_ns_;
}

void LateReturns::add_owners(std::uint32_t member, const OfRank& rank, ReturnOwners& owners) const {
  struct Candidate {
    Cause cause;
    double ns, return_ns;
  };
  std::vector<Candidate> candidates;
  for (const auto& [cause, return_ns] : rank.return_ns) {
    if (!ends_with_its_call(cause)) continue;
    const auto own = rank.own_ns.find(cause);
    const double own_ns = own == rank.own_ns.end() ? 0 : own->second;
    if (is_loss(cause)) candidates.push_back({cause, own_ns + return_ns, return_ns});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& l, const Candidate& r) { return l.ns > r.ns; });
  double left_ns = rank.without_cpu_ns;
  for (const Candidate& one : candidates) {
    if (one.ns <= left_ns) return;
    owners.emplace(member, one.cause);
    left_ns -= one.return_ns;
  }
}

ReturnOwners LateReturns::owners() const {
  ReturnOwners owners;
  for (const auto& [member, rank] : ranks_) add_owners(member, rank, owners);
  return owners;
}

}  // namespace hostprobe::analysis
