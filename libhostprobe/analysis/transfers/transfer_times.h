// transfer_times.h: how long collectives and messages move their data once all ranks have come, and how long their links need for it.
//
// Room 3.
#pragma once

#include <set>
#include <vector>

#include "analysis/graph/job_graph.h"
#include "answer/step_time.h"

namespace hostprobe::analysis {

constexpr std::size_t kFewestTransfers = 8;  // their quantiles say something then

// All that move as much between the same ranks: one of JobGraph::transfers.
struct TransferTimes {
  std::vector<double> ns;  // since the last arrival, sorted
  std::set<std::uint32_t> parts;
  double sum_ns = 0;
  double ends_ns = 0;  // with what the senders of messages wait meanwhile
  // As long as its links need: what the quickest tenth takes, or what more bytes between the same ranks do. 0: too few.
  double link_ns = 0;
};

struct AllTransferTimes {
  std::vector<TransferTimes> kinds;  // of JobGraph::transfers
  double other_ns = 0;               // of kernels that move several things, which cannot be told apart
  double sum_ns() const;             // of all, with the others
};
AllTransferTimes transfer_times(const JobGraph& job);

// That each link has to move.
double wire_bytes(const PathTransfer& kind);
// Over the slowest link inside a host.
double pcie_ns(const PathTransfer& kind);

// Where what is lost by them sits; `usual_ns` elsewhere, 0: not known.
LostSite transfer_site(const PathTransfer& kind, const TransferTimes& one, double usual_ns);

}  // namespace hostprobe::analysis
