// collective.h: an NCCL operation on one communicator, all ranks together.
//
// The waist (answer/). analysis/ranks/collective_join.h fills it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "histogram.h"

namespace hostprobe::analysis {

inline constexpr int kNoBytes = -1;  // the class of calls that move nothing

inline constexpr int kSizeUnknown = -2;  // of those that only counters know

// What the smallest call of a class passes, and what the smallest of the next one does. Not of kSizeUnknown.
std::uint64_t least_bytes(int size_class);

std::uint64_t next_least_bytes(int size_class);

// The calls of one size class.
struct CollectiveSize {
  Histogram host;      // duration of the calls, on all ranks
  Histogram gpu;       // of their kernels, on all ranks: waiting for the last rank included
  Histogram transfer;  // of each operation: from the last start to the last end
  double bus_bytes = 0;
  void add(const CollectiveSize& other) {
    host.add(other.host);
    gpu.add(other.gpu);
    transfer.add(other.transfer);
    bus_bytes += other.bus_bytes;
  }
};

// What samples tell of one operation on one communicator. A rank waits in its kernel until the last one is there: so long as it
// takes longer than the fastest rank does.
struct SampledTimes {
  Histogram gpu;             // of each rank, waiting included
  Histogram wait;            // of each rank, where all were sampled: for the last arrival
  Histogram transfer;        // there: of the fastest rank
  double bus_bytes = 0;      // of those in `transfer`
  double most_slack_ns = 0;  // what any of the times may be wrong by is half of this
  void add(const SampledTimes& other);
};

struct CollectiveAnswer {
  std::string communicator;  // hexadecimal; "" = not known
  std::string operation;
  std::uint32_t ranks = 0;  // size of the communicator; where no record tells it, how many processes were in it
  std::uint64_t count = 0;  // operations; messages are counted on each side
  std::uint64_t bytes = 0;  // of all of them together, per rank
  std::uint64_t failed = 0;
  Histogram host;                 // duration of the calls, on all ranks
  Histogram skew;                 // see JoinedOperation
  std::uint64_t partly_seen = 0;  // operations of which not all ranks were seen
  std::optional<int> last_rank;   // who was last most often, by the job's ranks where they are known
  double last_share_pct = 0;
  Histogram last_late;                  // by how much that rank was later than the second last
  bool last_beyond_chance = false;      // somebody is always last: this one more often than luck and the clocks explain
  std::map<int, CollectiveSize> sizes;  // by size class
  Histogram gpu_wait;                   // see JoinedOperation
  SampledTimes sampled;

  // A profile may tell that there was an operation, and nothing else of it.
  bool is_size_known() const { return bytes != 0 || count == 0 || !communicator.empty(); }
  // Of all sizes, where GPU times are known.
  std::optional<double> bus_gb_s() const;
};

}  // namespace hostprobe::analysis
