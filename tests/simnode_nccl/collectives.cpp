// Collectives compute what NCCL promises: every collective, type and operator, in sizes below, at and above the chunk's,
// out of place and in place, compared with a reference that shares no code with the library.
#include "numbers.h"
#include "ranks.h"

#include <algorithm>

namespace {

using numbers::Operation;
using numbers::Type;
using ranks::Rank;

// Chunks of 8 KiB, so that a few thousand elements are many of them.
const ranks::Environment kSmallChunks = {
    {"NCCL_BUFFSIZE", "65536"}, {"NCCL_P2P_NET_CHUNKSIZE", "4096"}, {"SIMNODE_LAUNCH_US", "0"}};
constexpr size_t kMost = 9001;

struct Bench {
  const Rank& rank;
  ncclComm_t communicator;
  char* send;
  char* recv;

  explicit Bench(const Rank& given) : rank(given), communicator(given.make_communicator()) {
    size_t bytes = kMost * 8 * static_cast<size_t>(rank.ranks);
    send = reinterpret_cast<char*>(rank.allocate(bytes));
    recv = reinterpret_cast<char*>(rank.allocate(bytes));
  }
  // A rank that leaves without this has died, as far as the others can see.
  ~Bench() { EXPECT_NCCL(ncclCommDestroy(communicator)); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // Elements [first, first + count) of the job's data of this rank.
  void fill(const Type& type, ncclRedOp_t op, size_t count, size_t first = 0) const {
    for (size_t i = 0; i < count; ++i) numbers::set(type, send, i, numbers::input(op, first + i, rank.rank));
  }

  void expect_reduced(const Type& type, const Operation& operation, const void* values, size_t count, size_t first,
                      const char* what) const {
    for (size_t i = 0; i < count; ++i) {
      double value = numbers::get(type, values, i);
      double expected = numbers::reduced(type, operation.op, first + i, rank.ranks);
      if (numbers::close(type, value, expected)) continue;
      ADD_FAILURE() << what << " " << type.name << " " << operation.name << " of " << count << " elements: element "
                    << i << " is " << value << ", not " << expected;
      return;
    }
  }

  void expect_input(const Type& type, const void* values, size_t count, size_t first, int of, const char* what) const {
    for (size_t i = 0; i < count; ++i) {
      double value = numbers::get(type, values, i);
      if (value == numbers::input(ncclSum, first + i, of)) continue;
      ADD_FAILURE() << what << " " << type.name << ": element " << i << " from rank " << of << " is " << value;
      return;
    }
  }
};

template <class Act>
void for_each_reduction(const Act& act) {
  for (const Type& type : numbers::all_types())
    for (const Operation& operation : numbers::all_operations())
      for (size_t count : {size_t{1}, size_t{257}, size_t{2900}}) act(type, operation, count);
}

class Collectives : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::Values(1, 2, 3, 4, 8));

TEST_P(Collectives, AllReduceGivesEveryRankTheReduction) {
  ranks::run(
      GetParam(),
      [](const Rank& rank) {
        Bench bench(rank);
        for_each_reduction([&](const Type& type, const Operation& operation, size_t count) {
          bench.fill(type, operation.op, count);
          EXPECT_NCCL(
              ncclAllReduce(bench.send, bench.recv, count, type.type, operation.op, bench.communicator, rank.stream));
          rank.synchronize();
          bench.expect_reduced(type, operation, bench.recv, count, 0, "AllReduce");
        });
      },
      kSmallChunks);
}

TEST_P(Collectives, AllReduceInPlaceOverwritesItsInput) {
  ranks::run(
      GetParam(),
      [](const Rank& rank) {
        Bench bench(rank);
        for (const Type& type : numbers::all_types()) {
          bench.fill(type, ncclSum, kMost);
          EXPECT_NCCL(
              ncclAllReduce(bench.send, bench.send, kMost, type.type, ncclSum, bench.communicator, rank.stream));
          rank.synchronize();
          bench.expect_reduced(type, {ncclSum, "sum"}, bench.send, kMost, 0, "AllReduce in place");
        }
      },
      kSmallChunks);
}

TEST_P(Collectives, ReduceGivesTheRootTheReductionAndLeavesTheOthersAlone) {
  ranks::run(
      GetParam(),
      [](const Rank& rank) {
        Bench bench(rank);
        int root = rank.ranks - 1;
        for_each_reduction([&](const Type& type, const Operation& operation, size_t count) {
          bench.fill(type, operation.op, count);
          memset(bench.recv, 0x5a, count * type.bytes);
          EXPECT_NCCL(ncclReduce(bench.send, rank.rank == root ? bench.recv : nullptr, count, type.type, operation.op,
                                 root, bench.communicator, rank.stream));
          rank.synchronize();
          if (rank.rank == root)
            bench.expect_reduced(type, operation, bench.recv, count, 0, "Reduce");
          else
            EXPECT_EQ(bench.recv[count * type.bytes - 1], 0x5a);
        });
      },
      kSmallChunks);
}

TEST_P(Collectives, ReduceScatterGivesEachRankItsBlock) {
  ranks::run(
      GetParam(),
      [](const Rank& rank) {
        Bench bench(rank);
        for_each_reduction([&](const Type& type, const Operation& operation, size_t count) {
          bench.fill(type, operation.op, count * static_cast<size_t>(rank.ranks));
          EXPECT_NCCL(ncclReduceScatter(bench.send, bench.recv, count, type.type, operation.op, bench.communicator,
                                        rank.stream));
          rank.synchronize();
          bench.expect_reduced(type, operation, bench.recv, count, count * static_cast<size_t>(rank.rank),
                               "ReduceScatter");
        });
      },
      kSmallChunks);
}

TEST_P(Collectives, ReduceScatterInPlaceUsesItsOwnBlock) {
  ranks::run(
      GetParam(),
      [](const Rank& rank) {
        Bench bench(rank);
        const Type& type = numbers::all_types()[7];
        constexpr size_t kCount = 3000;
        auto own = static_cast<size_t>(rank.rank);
        bench.fill(type, ncclSum, kCount * static_cast<size_t>(rank.ranks));
        char* block = bench.send + own * kCount * type.bytes;
        EXPECT_NCCL(ncclReduceScatter(bench.send, block, kCount, type.type, ncclSum, bench.communicator, rank.stream));
        rank.synchronize();
        bench.expect_reduced(type, {ncclSum, "sum"}, block, kCount, own * kCount, "ReduceScatter in place");
      },
      kSmallChunks);
}

TEST_P(Collectives, AllGatherConcatenatesByRank) {
  ranks::run(
      GetParam(),
      [](const Rank& rank) {
        Bench bench(rank);
        for (const Type& type : numbers::all_types())
          for (size_t count : {size_t{1}, size_t{257}, kMost}) {
            bench.fill(type, ncclSum, count);
            EXPECT_NCCL(ncclAllGather(bench.send, bench.recv, count, type.type, bench.communicator, rank.stream));
            rank.synchronize();
            for (int from = 0; from < rank.ranks; ++from)
              bench.expect_input(type, bench.recv + static_cast<size_t>(from) * count * type.bytes, count, 0, from,
                                 "AllGather");
          }
      },
      kSmallChunks);
}

TEST_P(Collectives, BroadcastAndBcastCopyTheRootsData) {
  ranks::run(
      GetParam(),
      [](const Rank& rank) {
        Bench bench(rank);
        int root = rank.ranks / 2;
        for (const Type& type : numbers::all_types()) {
          bench.fill(type, ncclSum, kMost);
          const void* from = rank.rank == root ? bench.send : nullptr;
          EXPECT_NCCL(ncclBroadcast(from, bench.recv, kMost, type.type, root, bench.communicator, rank.stream));
          EXPECT_NCCL(ncclBcast(bench.send, kMost, type.type, root, bench.communicator, rank.stream));
          rank.synchronize();
          bench.expect_input(type, bench.recv, kMost, 0, root, "Broadcast");
          bench.expect_input(type, bench.send, kMost, 0, root, "Bcast");
        }
      },
      kSmallChunks);
}

TEST_P(Collectives, AlltoAllTransposes) {
  ranks::run(
      GetParam(),
      [](const Rank& rank) {
        Bench bench(rank);
        constexpr size_t kCount = 1500;
        for (const Type& type : numbers::all_types()) {
          bench.fill(type, ncclSum, kCount * static_cast<size_t>(rank.ranks));
          EXPECT_NCCL(ncclAlltoAll(bench.send, bench.recv, kCount, type.type, bench.communicator, rank.stream));
          rank.synchronize();
          for (int from = 0; from < rank.ranks; ++from)
            bench.expect_input(type, bench.recv + static_cast<size_t>(from) * kCount * type.bytes, kCount,
                               kCount * static_cast<size_t>(rank.rank), from, "AlltoAll");
        }
      },
      kSmallChunks);
}

TEST_P(Collectives, GatherCollectsAtTheRootAndScatterDealsOut) {
  ranks::run(
      GetParam(),
      [](const Rank& rank) {
        Bench bench(rank);
        constexpr size_t kCount = 1500;
        for (const Type& type : numbers::all_types()) {
          bench.fill(type, ncclSum, kCount * static_cast<size_t>(rank.ranks));
          void* to = rank.rank == 0 ? bench.recv : nullptr;
          EXPECT_NCCL(ncclGather(bench.send, to, kCount, type.type, 0, bench.communicator, rank.stream));
          rank.synchronize();
          for (int from = 0; from < (rank.rank == 0 ? rank.ranks : 0); ++from)
            bench.expect_input(type, bench.recv + static_cast<size_t>(from) * kCount * type.bytes, kCount, 0, from,
                               "Gather");
          const void* source = rank.rank == 0 ? bench.send : nullptr;
          EXPECT_NCCL(ncclScatter(source, bench.recv, kCount, type.type, 0, bench.communicator, rank.stream));
          rank.synchronize();
          bench.expect_input(type, bench.recv, kCount, kCount * static_cast<size_t>(rank.rank), 0, "Scatter");
        }
      },
      kSmallChunks);
}

TEST_P(Collectives, SendAndReceiveRoundTheRing) {
  if (GetParam() == 1) GTEST_SKIP() << "needs somebody to send to";
  ranks::run(
      GetParam(),
      [](const Rank& rank) {
        Bench bench(rank);
        int next = (rank.rank + 1) % rank.ranks, previous = (rank.rank + rank.ranks - 1) % rank.ranks;
        for (const Type& type : numbers::all_types()) {
          bench.fill(type, ncclSum, kMost);
          EXPECT_NCCL(ncclGroupStart());
          EXPECT_NCCL(ncclSend(bench.send, kMost, type.type, next, bench.communicator, rank.stream));
          EXPECT_NCCL(ncclRecv(bench.recv, kMost, type.type, previous, bench.communicator, rank.stream));
          EXPECT_NCCL(ncclGroupEnd());
          rank.synchronize();
          bench.expect_input(type, bench.recv, kMost, 0, previous, "Recv");
        }
      },
      kSmallChunks);
}

TEST_P(Collectives, PreMulSumMultipliesEachRanksInputByItsOwnScalar) {
  ranks::run(
      GetParam(),
      [](const Rank& rank) {
        Bench bench(rank);
        constexpr size_t kCount = 3000;
        for (const Type& type : numbers::all_types())
          for (ncclScalarResidence_t residence : {ncclScalarHostImmediate, ncclScalarDevice}) {
            bool on_device = residence == ncclScalarDevice;
            char* scalar = on_device ? bench.recv + kCount * 8 : bench.send + kCount * 8;
            numbers::set(type, scalar, 0, on_device ? 1 : rank.rank + 1);
            ncclRedOp_t op;
            EXPECT_NCCL(ncclRedOpCreatePreMulSum(&op, scalar, type.type, residence, bench.communicator));
            // A scalar on the device is read when the operation runs, one on the host when the operator is made.
            numbers::set(type, scalar, 0, on_device ? rank.rank + 1 : 3);
            for (size_t i = 0; i < kCount; ++i) numbers::set(type, bench.send, i, static_cast<int>(i % 3));
            EXPECT_NCCL(ncclAllReduce(bench.send, bench.recv, kCount, type.type, op, bench.communicator, rank.stream));
            rank.synchronize();
            int factor = rank.ranks * (rank.ranks + 1) / 2;
            for (size_t i = 0; i < kCount; i += 101)
              EXPECT_TRUE(numbers::close(type, numbers::get(type, bench.recv, i), static_cast<double>(i % 3) * factor))
                  << type.name << " " << numbers::get(type, bench.recv, i);
            EXPECT_NCCL(ncclRedOpDestroy(op, bench.communicator));
          }
      },
      kSmallChunks);
}

TEST(CollectiveConfigs, AreThePlainCollectivesWithAConfig) {
  ranks::run(2, [](const Rank& rank) {
    Bench bench(rank);
    const Type& type = numbers::all_types()[7];
    ncclCollConfig_t config{};
    config.size = sizeof config;
    config.magic = 0xcafebeef;
    config.version = NCCL_VERSION_CODE;
    for (const ncclCollConfig_t* given :
         {static_cast<const ncclCollConfig_t*>(nullptr), static_cast<const ncclCollConfig_t*>(&config)}) {
      bench.fill(type, ncclSum, 500);
      EXPECT_NCCL(
          ncclAllReduceConfig(bench.send, bench.recv, 500, type.type, ncclSum, bench.communicator, rank.stream, given));
      rank.synchronize();
      bench.expect_reduced(type, {ncclSum, "sum"}, bench.recv, 500, 0, "AllReduceConfig");
      EXPECT_NCCL(ncclAllGatherConfig(bench.send, bench.recv, 500, type.type, bench.communicator, rank.stream, given));
      rank.synchronize();
      bench.expect_input(type, bench.recv + 500 * type.bytes, 500, 0, 1, "AllGatherConfig");
    }
    config.magic = 1;
    EXPECT_EQ(
        ncclAllReduceConfig(bench.send, bench.recv, 5, type.type, ncclSum, bench.communicator, rank.stream, &config),
        ncclInvalidArgument);
  });
}

}  // namespace
