// chain_walk.h: who made the main thread wait, and what that thread did meanwhile, down to the first link.
//
// Room 3. A wait is the time until somebody's post, and the wake latency after it. The first part is laid over what the
// waker did in it: it ran, or it waited itself, which goes on to its own waker. Each instant is split, never copied, so the
// links of a site sum to its time before the posts. A thread seen before, a lost record, a post that nobody recorded end a
// chain: unexplained. Where a rank waits in a collective for another to come, the chain goes on there (rank_waits.h).
#pragma once

#include <vector>

#include "analysis/measures/wake_chains.h"
#include "path_graph.h"

namespace hostprobe::analysis {

struct ProcessAnswer;

// A rank waited in a collective until the last one came. Times are of the process that waited.
struct RankWait {
  double begin_ns = 0, end_ns = 0;  // from its own arrival to the last one's
  double until_ns = 0;              // what returned before did not wait for it
  const Track* inside = nullptr;    // the thread whose call waited; nullptr: the GPU did, and whoever waited for that
  std::uint32_t member = 0;         // who came last
  const Track* track = nullptr;     // the thread of it that made the call
  double called_ns = 0;             // when it did; what kept it later was its GPU
};

// A process in which chains are followed.
struct ChainMember {
  const WakeChains* chains = nullptr;
  TimeAxis axis = {};
  std::uint32_t pid = 0;
  std::optional<int> rank = {};
  std::vector<RankWait> waits = {};  // by begin; none overlap
  std::uint64_t collectives = 0;     // calls that it made, as far as they are counted
};

WakeChainAnswer follow_chains(const std::vector<ChainMember>& members, std::uint32_t member);

// With the waits of its process.
void set_chains(WakeChainAnswer chains, ProcessAnswer& answer);

}  // namespace hostprobe::analysis
