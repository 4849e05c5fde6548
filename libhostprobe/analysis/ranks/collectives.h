// collectives.h: NCCL operations per communicator: how many, how large, how long their calls take on the host.
//
// Room 3. What one process can tell alone; collective_join.h puts the ranks together, and answer_collectives() both. What
// is kept grows with communicators and operations, never with calls.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collective_kernels.h"
#include "collective_sizes.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

struct CollectiveCall {
  std::uint64_t communicator = 0;  // the same on all ranks; 0 = not known
  std::uint32_t sequence = 0;      // on it; 0 = the call failed
  std::int32_t rank = -1;          // on it
  std::int32_t size = 0;
  std::int32_t peer = -1;      // see CollectiveWords
  std::uint64_t bytes = 0;     // count × size of the type, as passed by the caller
  std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC
  double host_ns = 0;
  const std::string* operation = nullptr;  // "AllReduce"
  bool counted = false;                    // a counter counts it too
  std::uint64_t gpu_begin_ns = 0;          // of its kernel, CLOCK_MONOTONIC; 0 = not known
  std::uint64_t gpu_end_ns = 0;
  double gpu_error_ns = 0;     // of its end; infinite: its begin alone is known
  bool shares_kernel = false;  // with other calls of its group
  KernelRange kernels = {};    // where these are known
  const Track* track = nullptr;
  std::uint16_t stack = 0;  // Record::stack

  // All ranks make it, so it is one of those that can be put together.
  bool meets() const { return communicator != 0 && sequence != 0 && !is_message(*operation); }
  // And no rank can end it before all have arrived.
  bool is_for_all() const;
};

CollectiveCall collective_call(const Event& event);

// Calls of one process for one operation on one communicator of which only this is left.
struct CollectiveCounter {
  std::uint64_t communicator = 0;
  const std::string* operation = nullptr;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  bool failed = false;  // none of them was taken
  Histogram host = {};
};

using CollectiveKey = std::pair<std::uint64_t, std::string>;  // communicator, operation

// Of one process for one operation on one communicator.
struct CollectiveShare {
  Histogram host;
  std::map<int, Histogram> host_by_size;  // by size class, of calls that were taken
  std::uint64_t failed = 0;
  std::int32_t size = 0;    // of the communicator; 0 = no record tells it
  std::uint64_t count = 0;  // records and counters
  std::uint64_t bytes = 0;
  std::set<std::int32_t> ranks;  // that the process drives, as far as records tell
  bool counters = false;         // counters of calls that were taken are among it
  std::uint64_t per_rank(std::uint64_t all) const { return all / std::max<std::uint64_t>(ranks.size(), 1); }
  void add(const CollectiveShare& other);
};

// The first and the last call of a rank that all ranks of the communicator make.
struct CollectiveSpan {
  CollectiveCall first;
  CollectiveCall last;
  std::vector<std::string> last_stack;  // of `last`, the innermost first, where one was taken
  void add(const CollectiveCall& call);
};

struct ProcessCollectives {
  std::map<CollectiveKey, CollectiveShare> shares;
  std::map<std::uint64_t, std::map<std::int32_t, CollectiveSpan>> ranks;  // by communicator and rank on it
  std::set<std::uint64_t> with_counters;  // communicators on which only counters are left of some calls

  void add(const CollectiveCall& call);
  void add(const CollectiveCounter& counter);
  void merge(const ProcessCollectives& other);
};

class Collectives {
 public:
  explicit Collectives(const Timeline&) {}
  void add(const Event& event) {
    if (event.is(kCollective) && !event.below_limit) add_calls(event);
  }
  void merge(const Collectives& other) { answer_.merge(other.answer_); }
  ProcessCollectives finish() { return std::move(answer_); }

 private:
  void add_calls(const Event& event);

  ProcessCollectives answer_;
};

}  // namespace hostprobe::analysis
