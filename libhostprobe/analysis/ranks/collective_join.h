// collective_join.h: the collectives of all ranks, put together by communicator and running number, which the probe counts
// the same way on every rank: how far apart the ranks arrive, and who is last.
//
// Room 3. A merge of one stream per thread that made such calls. No stream is read further than kAhead operations beyond
// the slowest rank of its communicator, so what is held grows with ranks and communicators, never with calls. Times of
// different hosts are compared where their clocks are aligned.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "answer/collective.h"
#include "collective_samples.h"
#include "collective_source.h"
#include "model/host_clocks.h"

namespace hostprobe::analysis {

// What one process adds to the answer about the run.
struct CollectiveMember {
  const ProcessCollectives* own = nullptr;
  std::string host = {};
  std::optional<int> rank = std::nullopt;  // of the job
  std::vector<CollectiveSource> sources = {};
  std::optional<HostClock> clock = std::nullopt;  // of its host, where it is aligned with the others
  CollectiveSamples samples = {};
};

// How often a rank was last.
struct LastRank {
  std::uint64_t count = 0;
  std::uint64_t again = 0;  // it had been in the operation before, too
  Histogram late;           // by how much, against the second last
};

// One operation on one communicator, all ranks together.
struct JoinedOperation {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // per rank
  Histogram skew;           // last arrival minus first, where all ranks were seen on one host
  std::uint64_t partly_seen = 0;
  std::map<int, LastRank> last;         // by the job's ranks where they are known
  int last_before = -1;                 // who was last in the operation before
  double clock_error_ns = 0;            // what comparing clocks of hosts can be wrong by
  std::map<int, CollectiveSize> sizes;  // where GPU times are known
  Histogram gpu_wait;                   // of each rank: from its kernel's start to that of the last rank
  SampledTimes sampled;
};

struct CollectiveJoin {
  std::map<CollectiveKey, JoinedOperation> operations;
  std::size_t most_held = 0;  // operations that waited for a rank at the same time
};

inline constexpr std::uint32_t kJoinAhead = 256;  // operations

CollectiveJoin join_collectives(std::vector<CollectiveMember>& members);

// Heaviest in bytes first. `steps`: how many the run had, 0 = not known; operations of one step are late together.
std::vector<CollectiveAnswer> answer_collectives(std::vector<CollectiveMember>& members, std::uint64_t steps = 0);

}  // namespace hostprobe::analysis
