// 64 ranks on whatever CPUs there are: a step program runs to its end and is right; how long it takes does not matter.
#include "ranks.h"

namespace {

using ranks::Rank;

TEST(Scale, SixtyFourRanksRunAStepProgramToItsEnd) {
  ranks::run(64,
             [](const Rank& rank) {
               constexpr size_t kCount = 512;
               ncclComm_t world = rank.make_communicator(), group = nullptr;
               EXPECT_NCCL(ncclCommSplit(world, rank.rank / 8, rank.rank, &group, nullptr));
               auto* values = reinterpret_cast<float*>(rank.allocate(64 * kCount * sizeof(float)));
               auto* gathered = values + kCount * 16;
               for (int step = 0; step < 3; ++step) {
                 for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(rank.rank + step);
                 EXPECT_NCCL(ncclAllGather(values, gathered, kCount, ncclFloat32, group, rank.stream));
                 EXPECT_NCCL(ncclAllReduce(values, values, kCount, ncclFloat32, ncclSum, world, rank.stream));
                 EXPECT_NCCL(ncclGroupStart());
                 EXPECT_NCCL(ncclSend(values, kCount, ncclFloat32, (rank.rank + 1) % 64, world, rank.stream));
                 EXPECT_NCCL(ncclRecv(values + kCount, kCount, ncclFloat32, (rank.rank + 63) % 64, world, rank.stream));
                 EXPECT_NCCL(ncclGroupEnd());
                 rank.synchronize();
                 EXPECT_EQ(values[kCount - 1], static_cast<float>(2016 + 64 * step));
                 EXPECT_EQ(values[kCount], values[0]);
                 EXPECT_EQ(gathered[3 * kCount], static_cast<float>(rank.rank / 8 * 8 + 3 + step));
               }
               rank.enter_stage(1);
               EXPECT_NCCL(ncclCommDestroy(group));
               EXPECT_NCCL(ncclCommDestroy(world));
             },
             {{"SIMNODE_HOSTS", "8"}});
}

}  // namespace
