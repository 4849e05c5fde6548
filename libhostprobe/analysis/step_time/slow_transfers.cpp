// slow_transfers.cpp: see slow_transfers.h.
#include "slow_transfers.h"

#include <algorithm>
#include <set>

#include "analysis/ranks/collective_sizes.h"
#include "quantile.h"
#include "transfer_share.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kFewestCollectives = 8;  // collectives: their quartiles say something then
constexpr double kClearly = 1.25;              // as far apart two medians must be
constexpr double kLargePart = 0.1;             // of the steps
constexpr double kFar = 2;                     // times as long: then a smaller part tells as well
constexpr std::uint64_t kAsMany = 2;           // times as many bytes at most

// NCCL's own model of a ring over PCIe, with its Simple protocol (src/graph/tuning.cc: baseLat, hwLat, PCI_WIDTH). Of what NCCL chooses
// between, and of the links inside a host, it is the slowest.
constexpr double kRingNs = 8400, kRingStepNs = 5700, kPcieGbS = 12;

// All that move as much between the same ranks.
struct Transfers {
  std::vector<double> ns;  // since the last arrival
  std::set<std::uint32_t> parts;
  double sum_ns = 0;
  double ends_ns = 0;   // with what the senders of messages wait meanwhile
  double usual_ns = 0;  // elsewhere; 0: nothing to compare with, < 0: as quick as elsewhere
};

// `other_ns`: of kernels that move several things, which cannot be told apart. Of a message its receiver's kernel tells how long it took:
// the sender's ends when the bytes are buffered.
std::vector<Transfers> transfers_of(const JobGraph& job, double& other_ns) {
  std::vector<Transfers> all(job.transfers.size());
  for (std::uint32_t i = 0; i < job.parts.size(); ++i)
    for (const ActivityNode& node : job.parts[i].nodes) {
      if (!node.collective || node.waits == 0) continue;
      const PathOperation& operation = job.operations[job.parts[i].waits[node.first_wait]];
      const double ns = std::max(0.0, node.end_ns - std::max(operation.last_ns, node.begin_ns));
      if (node.waits > 1 || operation.transfer == kNoTransfer) {
        other_ns += ns;
        continue;
      }
      all[operation.transfer].parts.insert(i);
      all[operation.transfer].ends_ns += ns;
      if (operation.receiver >= 0 && operation.receiver != static_cast<std::int32_t>(i)) continue;
      all[operation.transfer].ns.push_back(ns);
      all[operation.transfer].sum_ns += ns;
    }
  for (Transfers& one : all) std::sort(one.ns.begin(), one.ns.end());
  return all;
}

bool are_alike(const PathTransfer& l, const PathTransfer& r) {
  return (l.communicator != r.communicator || l.between != r.between) && l.operation == r.operation &&
         l.ranks == r.ranks && l.bytes <= kAsMany * r.bytes && r.bytes <= kAsMany * l.bytes;
}

// The quickest of the others counts: a slow link is in several communicators of its rank.
void compare(const std::vector<PathTransfer>& kinds, std::vector<Transfers>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    Transfers& own = all[i];
    if (own.ns.size() < kFewestCollectives) continue;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const Transfers& other = all[k];
      if (!are_alike(kinds[i], kinds[k]) || other.ns.size() < kFewestCollectives) continue;
      const double scale = std::max(
          1.0, static_cast<double>(kinds[i].bytes) / static_cast<double>(std::max<std::uint64_t>(1, kinds[k].bytes)));
      const double usual_ns = scale * quantile(other.ns, 0.5);
      const bool slow =
          quantile(own.ns, 0.25) > scale * quantile(other.ns, 0.75) && quantile(own.ns, 0.5) > kClearly * usual_ns;
      if (!slow && own.usual_ns == 0) own.usual_ns = -1;
      if (slow && (own.usual_ns <= 0 || usual_ns < own.usual_ns)) own.usual_ns = usual_ns;
    }
  }
}

// The only one that is in all slow ones, and in none that is as quick as elsewhere.
std::int64_t member_of(const std::vector<Transfers>& all, std::size_t parts) {
  std::int64_t found = -1;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const bool fits = std::all_of(all.begin(), all.end(), [i](const Transfers& one) {
      return one.usual_ns == 0 || (one.usual_ns > 0) == one.parts.contains(i);
    });
    if (fits && found >= 0) return -1;
    if (fits) found = i;
  }
  return found;
}

double wire_bytes(const PathTransfer& kind) {
  return bus_bytes(kind.operation, kind.bytes, static_cast<std::uint32_t>(std::max(1, kind.ranks)));
}

double pcie_ns(const PathTransfer& kind) {
  const double steps = (kind.operation == "AllReduce" ? 2 : 1) * std::max(1, kind.ranks - 1);
  return kRingNs + steps * kRingStepNs + wire_bytes(kind) / kPcieGbS;
}

bool share_a_host(const std::vector<StepTimeMember>& members) {
  return std::all_of(members.begin(), members.end(),
                     [&](const StepTimeMember& one) { return one.answer->host == members.front().answer->host; });
}

// What is left of them over PCIe. Empty: none is clearly slower.
std::vector<double> left_over_pcie(const std::vector<PathTransfer>& kinds, const std::vector<Transfers>& all) {
  std::vector<double> left(all.size(), 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].ns.size() < kFewestCollectives || all[i].sum_ns <= 0) continue;
    double left_ns = 0;
    for (const double ns : all[i].ns) left_ns += std::min(ns, pcie_ns(kinds[i]));
    left[i] = left_ns / all[i].sum_ns;
  }
  const auto least = std::min_element(left.begin(), left.end());
  return least == left.end() || *least * kClearly > 1 ? std::vector<double>{} : left;
}

LostSite site_of(const PathTransfer& kind, const Transfers& one) {
  LostSite site;
  site.function = "nccl" + kind.operation;
  site.transfer.bytes = kind.bytes;
  const double ns = quantile(one.ns, 0.5);
  const double bytes = wire_bytes(kind);
  site.transfer.us = 1e-3 * ns;
  if (ns > 0) site.transfer.bus_gb_s = bytes / ns;
  if (one.usual_ns > 0) site.transfer.usual_bus_gb_s = bytes / one.usual_ns;
  return site;
}

// By what each is longer than it could be; where nobody knows, the longest.
std::size_t heaviest_of(const std::vector<Transfers>& all, const std::vector<double>& left) {
  std::size_t heaviest = 0;
  double most_ns = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double ns = left.empty() ? all[i].sum_ns : (1 - left[i]) * all[i].ends_ns;
    if (ns > most_ns) most_ns = ns, heaviest = i;
  }
  return heaviest;
}

double exposed_ns(const StepTime& time) {
  double ns = 0;
  for (const LostTime& lost : time.lost)
    if (lost.cause == Cause::kTransfer) ns += lost.ns;
  return ns;
}

}  // namespace

std::vector<double> name_slow_transfers(const JobGraph& job, const std::vector<StepTimeMember>& members,
                                        bool have_a_cause, StepTime& time) {
  double sum_ns = 0, collective_ns = 0, excess_ns = 0, other_ns = 0;
  std::vector<Transfers> all = transfers_of(job, other_ns);
  compare(job.transfers, all);
  std::vector<double> left(all.size(), 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].usual_ns > 0) left[i] = all[i].usual_ns / quantile(all[i].ns, 0.5);
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
  const auto share_of = [&](double ns) { return ns / (sum_ns + other_ns) * exposed_ns(time) / time.length_ns; };
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
  named.site = site_of(job.transfers[heaviest], all[heaviest]);
  if (!by_others && !left.empty() && left[heaviest] < 1)
    named.site.transfer.pcie_bus_gb_s = wire_bytes(job.transfers[heaviest]) / pcie_ns(job.transfers[heaviest]);
  const std::int64_t member = by_others ? member_of(all, job.parts.size()) : -1;
  if (member >= 0) named.member = static_cast<std::uint32_t>(member);
  named.of_all = member < 0;
  take_from_transfers(slow_ns / (sum_ns + other_ns), std::move(named), time);
  return left;
}

}  // namespace hostprobe::analysis
