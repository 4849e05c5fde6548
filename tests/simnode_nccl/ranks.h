// A job for tests: forks the ranks (this process must not have initialised the driver), gives each a device, a stream and
// the launcher's variables, and collects whether each one's expectations held. What ranks tell the test goes through
// memory that they share with it.
#pragma once
#include "nccl_abi.h"

#include <cuda.h>
#include <gtest/gtest.h>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ranks {

constexpr int kMostRanks = 64;

// What a rank may tell the test and the other ranks.
struct Shared {
  int finished;  // ranks whose body has returned
  int failed;
  ncclUniqueId id;
  volatile int id_ready;
  volatile int stage[kMostRanks];
  double number[kMostRanks][16];
};

struct Rank {
  int rank, ranks;
  Shared* shared;
  CUcontext context;
  CUstream stream;

  ncclUniqueId unique_id() const;        // rank 0 makes it, the others wait for it
  ncclComm_t make_communicator() const;  // of all ranks
  void enter_stage(int stage) const;     // and wait until all ranks are there
  CUdeviceptr allocate(size_t bytes) const;
  void synchronize() const;
};

using Environment = std::map<std::string, std::string>;

// Runs `body` in `count` processes. A rank that dies of a signal or whose expectations fail is a failure here, unless it
// is in `dying`. Returns what the ranks told.
Shared run(int count, const std::function<void(const Rank&)>& body, const Environment& environment = {},
           const std::vector<int>& dying = {});

// Virtual milliseconds that the stream's work of `body` takes.
float timed_ms(const Rank& rank, const std::function<void()>& body);

#define EXPECT_NCCL(expression) EXPECT_EQ(expression, ncclSuccess) << ncclGetLastError(nullptr)
#define ASSERT_NCCL(expression) ASSERT_EQ(expression, ncclSuccess) << ncclGetLastError(nullptr)

}  // namespace ranks
