// What one NCCL call asks for (Work), what one kernel launch carries (Plan), and one execution of it (Run). A plan that was
// captured into a graph is run at every launch of the graph; any other plan exactly once.
#pragma once
#include "kernel_names.h"

#include <cuda.h>
#include <atomic>
#include <memory>
#include <vector>

namespace simnode::nccl {

class Communicator;

struct Work {
  Kind kind;
  Op op = Op::kNone;
  ncclDataType_t type = ncclInt8;
  int root = 0;  // for send and receive: the peer
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;
  const void* scalar = nullptr;  // kPreMulSum: in device memory, read when the kernel runs; null: the value below
  uint64_t scalar_value = 0;

  bool point_to_point() const { return kind == Kind::kSend || kind == Kind::kRecv; }
};

struct Run;

struct Plan {
  std::shared_ptr<Communicator> communicator;
  std::vector<Work> collectives;     // one after the other
  std::vector<Work> point_to_point;  // all at once
  std::shared_ptr<Run> run;          // null when captured: then each launch of the graph makes its own
};

// Where a collective stands in one run.
struct CollectiveState {
  bool announced = false, matched = false;
  uint64_t chunks = 0, published = 0, reduced = 0, consumed = 0;
  uint64_t base = 0;  // of the communicator's chunks, counted over its life
  int64_t published_ns = 0, reduced_ns = 0, consumed_ns = 0;
};

struct PointToPointState {
  uint64_t chunks = 0, done = 0;
  int64_t done_ns = 0;
};

struct Run {
  enum : uint32_t { kPosted, kBegun, kDone };
  std::atomic<uint32_t> state{kPosted};
  std::shared_ptr<const Plan> captured;  // keeps a captured plan; null for the others, whose plan owns the run
  const Plan* plan = nullptr;
  int64_t start_ns = 0, end_ns = 0;  // on the virtual clock
  CUresult result = CUDA_SUCCESS;

  // Of the progress thread.
  size_t collective = 0;
  CollectiveState at;
  std::vector<PointToPointState> messages;
  int64_t sent_ns = 0, received_ns = 0;
};

}  // namespace simnode::nccl
