// transfer_times.cpp: see transfer_times.h.
#include "transfer_times.h"

#include <algorithm>

#include "analysis/ranks/collective_sizes.h"
#include "quantile.h"

namespace hostprobe::analysis {
namespace {

// NCCL's own model of a ring over PCIe, with its Simple protocol (src/graph/tuning.cc: baseLat, hwLat, PCI_WIDTH). Of what NCCL chooses
// between, and of the links inside a host, it is the slowest.
constexpr double kRingNs = 8400, kRingStepNs = 5700, kPcieGbS = 12;

double ring_steps(const PathTransfer& kind) {
  return (kind.operation == "AllReduce" ? 2 : 1) * std::max(1, kind.ranks - 1);
}

// Of a message its receiver's kernel tells how long it took: the sender's ends when the bytes are buffered.
void add(const JobGraph& job, std::uint32_t part, const ActivityNode& node, AllTransferTimes& all) {
  const PathOperation& operation = job.operations[job.parts[part].waits[node.first_wait]];
  const double ns = std::max(0.0, node.end_ns - std::max(operation.last_ns, node.begin_ns));
  if (node.waits > 1 || operation.transfer == kNoTransfer) {
    all.other_ns += ns;
    return;
  }
  TransferTimes& kind = all.kinds[operation.transfer];
  kind.parts.insert(part);
  kind.ends_ns += ns;
  if (operation.receiver >= 0 && operation.receiver != static_cast<std::int32_t>(part)) return;
  kind.ns.push_back(ns);
  kind.sum_ns += ns;
}

// A link takes as long each time. What takes that long only now and then, or longer than more bytes do, waits for something else.
double link_ns(const std::vector<PathTransfer>& kinds, const AllTransferTimes& all, std::size_t number) {
  constexpr double kQuickest = 0.1;
  const TransferTimes& own = all.kinds[number];
  double ns = quantile(own.ns, kQuickest);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const TransferTimes& other = all.kinds[i];
    if (i == number || other.ns.size() < kFewestTransfers || other.parts != own.parts) continue;
    if (kinds[i].ranks != kinds[number].ranks || wire_bytes(kinds[i]) < wire_bytes(kinds[number])) continue;
    ns = std::min(ns, quantile(other.ns, 0.5) * std::max(1.0, ring_steps(kinds[number]) / ring_steps(kinds[i])));
  }
  return ns;
}

}  // namespace

double AllTransferTimes::sum_ns() const {
  double ns = other_ns;
  for (const TransferTimes& kind : kinds) ns += kind.ends_ns;
  return ns;
}

AllTransferTimes transfer_times(const JobGraph& job) {
  AllTransferTimes all;
  all.kinds.resize(job.transfers.size());
  for (std::uint32_t i = 0; i < job.parts.size(); ++i)
    for (const ActivityNode& node : job.parts[i].nodes)
      if (node.collective && node.waits > 0) add(job, i, node, all);
  for (TransferTimes& kind : all.kinds) std::sort(kind.ns.begin(), kind.ns.end());
  for (std::size_t i = 0; i < all.kinds.size(); ++i)
    if (all.kinds[i].ns.size() >= kFewestTransfers) all.kinds[i].link_ns = link_ns(job.transfers, all, i);
  return all;
}

double wire_bytes(const PathTransfer& kind) {
  return bus_bytes(kind.operation, kind.bytes, static_cast<std::uint32_t>(std::max(1, kind.ranks)));
}

double pcie_ns(const PathTransfer& kind) {
  return kRingNs + ring_steps(kind) * kRingStepNs + wire_bytes(kind) / kPcieGbS;
}

LostSite transfer_site(const PathTransfer& kind, const TransferTimes& one, double usual_ns) {
  LostSite site;
  site.function = "nccl" + kind.operation;
  site.transfer.bytes = kind.bytes;
  const double ns = quantile(one.ns, 0.5);
  const double bytes = wire_bytes(kind);
  site.transfer.us = 1e-3 * ns;
  if (ns > 0) site.transfer.bus_gb_s = bytes / ns;
  if (usual_ns > 0) site.transfer.usual_bus_gb_s = bytes / usual_ns;
  return site;
}

}  // namespace hostprobe::analysis
