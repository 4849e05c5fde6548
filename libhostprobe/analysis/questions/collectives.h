// collectives.h: NCCL operations per communicator: how many, how large, how long their calls take on the host, and how far
// apart the ranks arrive.
//
// Room 3. Each process contributes its calls (process.cpp); run_answer.cpp puts those of all ranks together by communicator
// and running number, which the probe counts the same way on every rank. Times of different hosts are not compared: their
// clocks are not aligned yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/histogram.h"
#include "analysis/trace/trace.h"

namespace hostprobe::analysis {

struct CollectiveCall {
  std::uint64_t communicator = 0;  // the same on all ranks; 0 = not known
  std::uint32_t sequence = 0;      // on it; 0 = the call failed
  std::int32_t rank = -1;          // on it
  std::int32_t size = 0;
  std::uint64_t bytes = 0;     // count × size of the type, as passed by the caller
  std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC
  double host_ns = 0;
  const std::string* operation = nullptr;  // "AllReduce"
  bool summed = false;                     // a CollectiveSum counts it too
};

// Calls of one process for one operation on one communicator, of which only this is left, or records that are summed.
struct CollectiveSum {
  std::uint64_t communicator = 0;
  const std::string* operation = nullptr;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  bool failed = false;  // none of them was taken
  Histogram host;
};

// Of one process, in the order of its records.
class CollectiveCalls {
 public:
  explicit CollectiveCalls(const Trace& trace) : trace_(trace) {}
  void add(const Hook& hook, const Record& record);
  void add_sum(const Hook& hook, std::uint64_t site, std::uint64_t communicator, const SiteSum& sum);
  std::vector<CollectiveCall> finish() { return std::move(calls_); }
  std::vector<CollectiveSum> finish_sums() { return std::move(sums_); }

 private:
  struct Words {
    int communicator, count, call, place;
    const std::string* operation;
  };
  const Words& words_of(const Hook& hook);

  const Trace& trace_;
  std::map<const Hook*, Words> words_;
  std::vector<CollectiveCall> calls_;
  std::vector<CollectiveSum> sums_;
};

// "ncclAllReduce" and "ncclAllReduceConfig" are both AllReduce; one text per operation, kept for good.
const std::string* operation_name(const std::string& function);
bool is_message(const std::string& operation);

struct CollectiveAnswer {
  std::string communicator;  // hexadecimal; "" = not known
  std::string operation;
  std::uint32_t ranks = 0;  // size of the communicator; where no record tells it, how many processes were in it
  std::uint64_t count = 0;  // operations; messages are counted on each side
  std::uint64_t bytes = 0;  // of all of them together, per rank
  std::uint64_t failed = 0;
  Histogram host;                 // duration of the calls, on all ranks
  Histogram skew;                 // last arrival minus first, where all ranks were seen on one host
  std::uint64_t partly_seen = 0;  // operations of which not all ranks were seen
  std::optional<int> last_rank;   // who was last most often, by the job's ranks where they are known
  double last_share_pct = 0;
};

// What one process adds to the answer about the run.
struct ProcessCalls {
  const std::vector<CollectiveCall>* calls;
  const std::vector<CollectiveSum>* sums;
  std::string host;
  std::optional<int> rank;  // of the job
};

// Heaviest in bytes first.
std::vector<CollectiveAnswer> answer_collectives(const std::vector<ProcessCalls>& processes);

}  // namespace hostprobe::analysis
