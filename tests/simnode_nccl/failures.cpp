// Ranks that disagree, die, stay away or hand over what is not memory: the error that NCCL documents, and a hang only where
// NCCL hangs too, which an abort ends.
#include "ranks.h"

#include <unistd.h>
#include <csignal>
#include <cstring>
#include <thread>

namespace {

using ranks::Rank;

constexpr size_t kCount = 1000;

float* floats(const Rank& rank) { return reinterpret_cast<float*>(rank.allocate(kCount * sizeof(float))); }

ncclResult_t async_error(ncclComm_t communicator) {
  ncclResult_t error = ncclSuccess;
  EXPECT_NCCL(ncclCommGetAsyncError(communicator, &error));
  return error;
}

void await_error(ncclComm_t communicator, ncclResult_t expected) {
  while (async_error(communicator) == ncclSuccess) usleep(1000);
  EXPECT_EQ(async_error(communicator), expected);
}

void die_when_others_have_launched(const Rank& rank) {
  for (int other = 0; other < rank.ranks; ++other) {
    const volatile double& launched = rank.shared->number[other][0];
    while (other != rank.rank && launched == 0) usleep(500);
  }
  kill(getpid(), SIGKILL);
}

void expect_mismatch(const Rank& rank, ncclComm_t communicator) {
  rank.synchronize();
  await_error(communicator, ncclInvalidUsage);
  float* buffer = floats(rank);
  EXPECT_EQ(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, communicator, rank.stream), ncclInvalidUsage);
  EXPECT_NCCL(ncclCommAbort(communicator));
}

TEST(Mismatch, OfTheCountIsInvalidUsageOnAllRanks) {
  ranks::run(3, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    float* buffer = floats(rank);
    size_t count = rank.rank == 2 ? kCount - 1 : kCount;
    EXPECT_NCCL(ncclAllReduce(buffer, buffer, count, ncclFloat32, ncclSum, communicator, rank.stream));
    expect_mismatch(rank, communicator);
  });
}

TEST(Mismatch, OfTypeOperatorAndRootAreInvalidUsage) {
  for (int what = 0; what < 3; ++what)
    ranks::run(2, [what](const Rank& rank) {
      ncclComm_t communicator = rank.make_communicator();
      float* buffer = floats(rank);
      bool odd = rank.rank == 1;
      EXPECT_NCCL(ncclReduce(buffer, buffer, 10, what == 0 && odd ? ncclInt32 : ncclFloat32,
                             what == 1 && odd ? ncclMax : ncclSum, what == 2 && odd ? 1 : 0, communicator,
                             rank.stream));
      expect_mismatch(rank, communicator);
    });
}

TEST(Mismatch, OfTheOrderIsInvalidUsage) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    float* buffer = floats(rank);
    for (int i = 0; i < 2; ++i) {
      ncclResult_t result = i == rank.rank
                                ? ncclAllReduce(buffer, buffer, 10, ncclFloat32, ncclSum, communicator, rank.stream)
                                : ncclBroadcast(buffer, buffer, 10, ncclFloat32, 0, communicator, rank.stream);
      EXPECT_TRUE(result == ncclSuccess || (i == 1 && result == ncclInvalidUsage)) << result;
    }
    expect_mismatch(rank, communicator);
  });
}

TEST(Mismatch, OfSendAndReceiveIsInvalidUsage) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    float* buffer = floats(rank);
    EXPECT_NCCL(rank.rank == 0 ? ncclSend(buffer, 100, ncclFloat32, 1, communicator, rank.stream)
                               : ncclRecv(buffer, 200, ncclFloat32, 0, communicator, rank.stream));
    expect_mismatch(rank, communicator);
  });
}

TEST(Death, OfARankIsARemoteErrorAndAbortReleasesItsPeers) {
  ranks::run(4,
             [](const Rank& rank) {
               ncclComm_t communicator = rank.make_communicator();
               float* buffer = floats(rank);
               EXPECT_NCCL(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
               rank.synchronize();
               rank.enter_stage(1);
               if (rank.rank == 2) die_when_others_have_launched(rank);
               EXPECT_NCCL(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
               rank.shared->number[rank.rank][0] = 1;
               await_error(communicator, ncclRemoteError);
               EXPECT_EQ(cuStreamQuery(rank.stream), CUDA_ERROR_NOT_READY)
                   << "the kernel of a collective with a dead rank hangs";
               EXPECT_EQ(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, communicator, rank.stream),
                         ncclRemoteError);
               EXPECT_NCCL(ncclCommAbort(communicator));
               rank.synchronize();
             },
             {}, {2});
}

TEST(Death, SurvivorsMayShrinkAndGoOn) {
  ranks::run(4,
             [](const Rank& rank) {
               ncclComm_t communicator = rank.make_communicator(), smaller = nullptr;
               float* buffer = floats(rank);
               buffer[0] = 1;
               EXPECT_NCCL(ncclAllReduce(buffer, buffer + 1, 1, ncclFloat32, ncclSum, communicator, rank.stream));
               rank.synchronize();
               rank.enter_stage(1);
               if (rank.rank == 3) die_when_others_have_launched(rank);
               EXPECT_NCCL(ncclAllReduce(buffer, buffer + 1, 1, ncclFloat32, ncclSum, communicator, rank.stream));
               rank.shared->number[rank.rank][0] = 1;
               await_error(communicator, ncclRemoteError);
               int excluded[] = {3};
               EXPECT_NCCL(ncclCommShrink(communicator, excluded, 1, &smaller, nullptr, 1));
               rank.synchronize();
               EXPECT_NCCL(ncclAllReduce(buffer, buffer + 1, 1, ncclFloat32, ncclSum, smaller, rank.stream));
               rank.synchronize();
               EXPECT_EQ(buffer[1], 3.0f);
               EXPECT_NCCL(ncclCommAbort(communicator));
               EXPECT_NCCL(ncclCommDestroy(smaller));
             },
             {}, {3});
}

TEST(Death, DuringInitIsARemoteErrorForThoseWhoWait) {
  ranks::run(2,
             [](const Rank& rank) {
               ncclUniqueId id = rank.unique_id();  // rank 0 owns the meeting
               if (rank.rank == 0) {
                 while (rank.shared->stage[1] == 0) usleep(1000);
                 usleep(20000);
                 kill(getpid(), SIGKILL);
               }
               ncclComm_t communicator = nullptr;
               rank.shared->stage[1] = 1;
               EXPECT_EQ(ncclCommInitRank(&communicator, 2, id, 1), ncclRemoteError);
             },
             {}, {0});
}

TEST(Missing, APeerThatNeverCallsBlocksTheHostUntilItComes) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    float* buffer = floats(rank);
    if (rank.rank == 1) {
      rank.shared->number[1][0] = 1;
      usleep(50000);
      rank.shared->number[1][0] = 2;
    }
    EXPECT_NCCL(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
    EXPECT_EQ(rank.shared->number[1][0], 2) << "the first collective returns when its peer has come";
    rank.synchronize();
  });
}

TEST(Missing, LaterCollectivesBlockOnlyTheStream) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    float* buffer = floats(rank);
    auto reduce = [&] {
      EXPECT_NCCL(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
    };
    reduce();
    rank.synchronize();
    if (rank.rank == 0) {
      reduce();
      EXPECT_EQ(cuStreamQuery(rank.stream), CUDA_ERROR_NOT_READY);
    }
    rank.enter_stage(1);
    if (rank.rank == 1) reduce();
    rank.synchronize();
  });
}

TEST(Missing, AbortReleasesTheStuckStreamAndTheStuckHost) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    float* buffer = floats(rank);
    if (rank.rank == 0) {
      std::thread stuck([&] {
        EXPECT_EQ(cuCtxSetCurrent(rank.context), CUDA_SUCCESS);
        EXPECT_EQ(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, communicator, rank.stream),
                  ncclInternalError);
      });
      usleep(30000);
      EXPECT_NCCL(ncclCommAbort(communicator));
      stuck.join();
      rank.synchronize();
    }
    rank.enter_stage(1);
    EXPECT_EQ(ncclCommAbort(communicator), rank.rank == 0 ? ncclInvalidArgument : ncclSuccess);
  });
}

TEST(Missing, RevokeStopsWhatIsInFlight) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    float* buffer = floats(rank);
    EXPECT_NCCL(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
    rank.synchronize();
    if (rank.rank == 0) {
      EXPECT_NCCL(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
      EXPECT_NCCL(ncclCommRevoke(communicator, 0));
      rank.synchronize();
    }
    rank.enter_stage(1);
    EXPECT_EQ(ncclCommRevoke(communicator, 3), ncclInvalidArgument);
    EXPECT_NCCL(ncclCommAbort(communicator));
  });
}

TEST(BadMemory, IsAnIllegalAddressOfTheKernelNotACrash) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    float* buffer = floats(rank);
    EXPECT_NCCL(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
    rank.synchronize();
    rank.enter_stage(1);
    if (rank.rank == 0) {
      EXPECT_NCCL(ncclAllReduce(reinterpret_cast<void*>(0x10000), buffer, kCount, ncclFloat32, ncclSum, communicator,
                                rank.stream));
      EXPECT_EQ(cuStreamSynchronize(rank.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    }
    EXPECT_NCCL(ncclCommAbort(communicator));
  });
}

TEST(BadStream, IsACudaErrorAndTheCommunicatorLivesOn) {
  ranks::run(1, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    float* buffer = floats(rank);
    auto never = reinterpret_cast<CUstream>(0x77);
    EXPECT_EQ(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, communicator, never), ncclUnhandledCudaError);
    EXPECT_NCCL(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
    rank.synchronize();
    EXPECT_NCCL(ncclCommDestroy(communicator));
  });
}

}  // namespace
