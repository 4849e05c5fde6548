// slow_transfers.cpp: see slow_transfers.h.
#include "slow_transfers.h"

#include <algorithm>

#include "quantile.h"
#include "transfer_share.h"

namespace hostprobe::analysis {
namespace {

constexpr double kClearly = 1.25;     // as far apart two medians must be
constexpr double kLargePart = 0.1;    // of the steps
constexpr double kFar = 2;            // times as long: then a smaller part tells as well
constexpr std::uint64_t kAsMany = 2;  // times as many bytes at most

bool are_alike(const PathTransfer& l, const PathTransfer& r) {
  return (l.communicator != r.communicator || l.between != r.between) && l.operation == r.operation &&
         l.ranks == r.ranks && l.bytes <= kAsMany * r.bytes && r.bytes <= kAsMany * l.bytes;
}

// Of each kind how long it takes elsewhere; 0: there is nothing to compare with, < 0: as long as here.
// The quickest of the others counts: a slow link is in several communicators of its rank.
std::vector<double> usual_times(const std::vector<PathTransfer>& kinds, const std::vector<TransferTimes>& all) {
  std::vector<double> usual(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const TransferTimes& own = all[i];
    if (own.ns.size() < kFewestTransfers) continue;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const TransferTimes& other = all[k];
      if (!are_alike(kinds[i], kinds[k]) || other.ns.size() < kFewestTransfers) continue;
      const double scale = std::max(
          1.0, static_cast<double>(kinds[i].bytes) / static_cast<double>(std::max<std::uint64_t>(1, kinds[k].bytes)));
      const double usual_ns = scale * quantile(other.ns, 0.5);
      const bool slow =
          quantile(own.ns, 0.25) > scale * quantile(other.ns, 0.75) && quantile(own.ns, 0.5) > kClearly * usual_ns;
      if (!slow && usual[i] == 0) usual[i] = -1;
      if (slow && (usual[i] <= 0 || usual_ns < usual[i])) usual[i] = usual_ns;
    }
  }
  return usual;
}

// The only one that is in all slow ones, and in none that is as quick as elsewhere.
std::int64_t member_of(const std::vector<TransferTimes>& all, const std::vector<double>& usual, std::size_t parts) {
  std::int64_t found = -1;
  for (std::uint32_t i = 0; i < parts; ++i) {
    bool fits = true;
    for (std::size_t k = 0; k < all.size(); ++k)
      fits = fits && (usual[k] == 0 || (usual[k] > 0) == all[k].parts.contains(i));
    if (fits && found >= 0) return -1;
    if (fits) found = i;
  }
  return found;
}

bool share_a_host(const std::vector<const ProcessAnswer*>& members) {
  return std::all_of(members.begin(), members.end(),
                     [&](const ProcessAnswer* one) { return one->host == members.front()->host; });
}

// What is left of them over PCIe, as far as their links are slow. Empty: none is clearly slower.
std::vector<double> left_over_pcie(const std::vector<PathTransfer>& kinds, const std::vector<TransferTimes>& all) {
  std::vector<double> left(all.size(), 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].ns.size() < kFewestTransfers || all[i].sum_ns <= 0) continue;
    double slow_ns = 0;
    for (const double ns : all[i].ns)
      slow_ns += std::max(0.0, std::min(ns, kClearly * all[i].link_ns) - pcie_ns(kinds[i]));
    left[i] = 1 - slow_ns / all[i].sum_ns;
  }
  const auto least = std::min_element(left.begin(), left.end());
  return least == left.end() || *least * kClearly > 1 ? std::vector<double>{} : left;
}

// By what each is longer than it could be; where nobody knows, the longest.
std::size_t heaviest_of(const std::vector<TransferTimes>& all, const std::vector<double>& left) {
  std::size_t heaviest = 0;
  double most_ns = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double ns = left.empty() ? all[i].sum_ns : (1 - left[i]) * all[i].ends_ns;
    if (ns > most_ns) most_ns = ns, heaviest = i;
  }
  return heaviest;
}

}  // namespace

std::vector<double> name_slow_transfers(const JobGraph& job, const AllTransferTimes& times,
                                        const std::vector<const ProcessAnswer*>& members, bool have_a_cause,
                                        StepTime& time) {
  double sum_ns = 0, collective_ns = 0, excess_ns = 0;
  const std::vector<TransferTimes>& all = times.kinds;
  const double other_ns = times.other_ns;
  const std::vector<double> usual = usual_times(job.transfers, all);
  std::vector<double> left(all.size(), 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (usual[i] > 0) left[i] = usual[i] / quantile(all[i].ns, 0.5);
    sum_ns += all[i].ends_ns;
    if (job.transfers[i].between == 0) collective_ns += all[i].ends_ns;
    excess_ns += (1 - left[i]) * all[i].ends_ns;
  }
  if (sum_ns <= 0) return {};
  const std::vector<double> over_pcie =
      share_a_host(members) ? left_over_pcie(job.transfers, all) : std::vector<double>{};
  double over_pcie_ns = 0;
  for (std::size_t i = 0; i < over_pcie.size(); ++i) over_pcie_ns += (1 - over_pcie[i]) * all[i].ends_ns;
  // Of the steps, as far as nothing else ran meanwhile.
  const auto share_of = [&](double ns) {
    return ns / (sum_ns + other_ns) * exposed_transfers_ns(time) / time.length_ns;
  };
  const double least = 0.01 * least_share_pct(Cause::kCommBandwidth);
  // What is slower than elsewhere says why, unless all of them are slow and that is the lesser part of it.
  const bool by_others = excess_ns >= over_pcie_ns && share_of(excess_ns) >= least;
  double slow_ns = excess_ns;
  if (!by_others) {
    const bool are_far = over_pcie_ns >= (1 - 1 / kFar) * sum_ns && share_of(over_pcie_ns) >= least;
    const bool are_large = !have_a_cause && share_of(collective_ns) >= kLargePart;
    if (!are_far && !are_large) return {};
    slow_ns = are_large ? collective_ns : over_pcie_ns;
    left = over_pcie;
  }
  const std::size_t heaviest = heaviest_of(all, left);
  LostTime named;
  named.cause = Cause::kCommBandwidth;
  named.site = transfer_site(job.transfers[heaviest], all[heaviest], usual[heaviest]);
  if (!by_others && !left.empty() && left[heaviest] < 1)
    named.site.transfer.pcie_bus_gb_s = wire_bytes(job.transfers[heaviest]) / pcie_ns(job.transfers[heaviest]);
  const std::int64_t member = by_others ? member_of(all, usual, job.parts.size()) : -1;
  if (member >= 0) named.member = static_cast<std::uint32_t>(member);
  named.of_all = member < 0;
  take_from_transfers(slow_ns / (sum_ns + other_ns), std::move(named), time);
  return left;
}

}  // namespace hostprobe::analysis
