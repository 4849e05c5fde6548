// rank_waits.h: when the ranks of a job waited in a collective for another one to come, and for whom.
//
// Room 3. For chains that go on in another process (chain_walk.h). Only collectives that nobody can end before all have come, and
// of which all ranks were seen. Where GPU times are known a rank arrives when its kernel begins; else only a call that did not
// return before the last rank had called says that it waited.
#pragma once

#include <memory>
#include <vector>

#include "analysis/ranks/collective_source.h"
#include "chain_walk.h"

namespace hostprobe::analysis {

// Of ranks in collectives: each may become a wait of 56 bytes, and all of them are held.
inline constexpr std::size_t kMostArrivals = 2'000'000;

// Fills in ChainMember::waits. `kernels` of each. False: there are more arrivals than that.
bool find_rank_waits(std::vector<ChainMember>& members,
                     const std::vector<std::shared_ptr<const CollectiveKernels>>& kernels,
                     std::size_t most_arrivals = kMostArrivals);

}  // namespace hostprobe::analysis
