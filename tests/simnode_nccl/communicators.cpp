// Making, splitting, shrinking and ending communicators, and everything that may be wrong with the calls.
#include "ranks.h"

#include <unistd.h>
#include <climits>
#include <cstring>

namespace {

using ranks::Rank;

constexpr size_t kCount = 100;

float sum_of_ranks(const Rank& rank, ncclComm_t communicator, float mine) {
  auto* value = reinterpret_cast<float*>(rank.allocate(sizeof(float)));
  *value = mine;
  EXPECT_NCCL(ncclAllReduce(value, value, 1, ncclFloat32, ncclSum, communicator, rank.stream));
  rank.synchronize();
  return *value;
}

ncclConfig_t config_with(int blocking) {
  ncclConfig_t config;
  memset(&config, 0, sizeof config);
  for (int* member = &config.blocking; member <= &config.nvlsHostMode; ++member) *member = INT_MIN;
  config.size = sizeof config;
  config.magic = 0xcafebeef;
  config.version = NCCL_VERSION_CODE;
  config.blocking = blocking;
  config.netName = config.commName = nullptr;
  return config;
}

ncclResult_t await(ncclComm_t communicator) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    EXPECT_EQ(ncclCommGetAsyncError(communicator, &state), ncclSuccess);
    usleep(1000);
  }
  return state;
}

TEST(Communicator, KnowsItsRankCountAndDevice) {
  ranks::run(4, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    int count = 0, own = -1, device = -1, version = 0;
    EXPECT_NCCL(ncclCommCount(communicator, &count));
    EXPECT_NCCL(ncclCommUserRank(communicator, &own));
    EXPECT_NCCL(ncclCommCuDevice(communicator, &device));
    EXPECT_NCCL(ncclGetVersion(&version));
    EXPECT_EQ(count, 4);
    EXPECT_EQ(own, rank.rank);
    EXPECT_EQ(device, rank.rank);
    EXPECT_GE(version, 21800);
    EXPECT_NCCL(ncclCommFinalize(communicator));
    EXPECT_NCCL(ncclCommDestroy(communicator));
  });
}

TEST(Communicator, SplitOrdersByKeyAndLeavesOutRanksWithoutColor) {
  ranks::run(4, [](const Rank& rank) {
    ncclComm_t world = rank.make_communicator(), part = nullptr;
    int color = rank.rank == 3 ? -1 : 5;
    EXPECT_NCCL(ncclCommSplit(world, color, -rank.rank, &part, nullptr));
    EXPECT_EQ(ncclCommSplit(world, -2, 0, &world, nullptr), ncclInvalidArgument);
    if (rank.rank == 3) {
      EXPECT_EQ(part, nullptr);
      return rank.enter_stage(1);
    }
    int own = -1, count = 0;
    EXPECT_NCCL(ncclCommUserRank(part, &own));
    EXPECT_NCCL(ncclCommCount(part, &count));
    EXPECT_EQ(own, 2 - rank.rank);
    EXPECT_EQ(count, 3);
    EXPECT_EQ(sum_of_ranks(rank, part, 1), 3);
    rank.enter_stage(1);
  });
}

TEST(Communicator, ShrinkLeavesOutRanksThatDoNotEvenCall) {
  ranks::run(4, [](const Rank& rank) {
    ncclComm_t world = rank.make_communicator(), part = nullptr;
    int excluded[] = {1};
    if (rank.rank == 1) {
      EXPECT_EQ(ncclCommShrink(world, excluded, 1, &part, nullptr, 0), ncclInvalidArgument);
    } else {
      EXPECT_NCCL(ncclCommShrink(world, excluded, 1, &part, nullptr, 0));
      EXPECT_EQ(sum_of_ranks(rank, part, static_cast<float>(rank.rank)), 5);
    }
    rank.enter_stage(1);
    EXPECT_EQ(sum_of_ranks(rank, world, 1), 4) << "the parent is as it was";
    rank.enter_stage(2);
  });
}

TEST(Communicator, NonBlockingCallsAnswerInProgressUntilDone) {
  ranks::run(2, [](const Rank& rank) {
    ncclUniqueId id = rank.unique_id();
    ncclConfig_t config = config_with(0);
    ncclComm_t communicator = nullptr;
    EXPECT_EQ(ncclCommInitRankConfig(&communicator, 2, id, rank.rank, &config), ncclInProgress);
    ASSERT_NE(communicator, nullptr);
    EXPECT_EQ(await(communicator), ncclSuccess);
    auto* value = reinterpret_cast<float*>(rank.allocate(sizeof(float)));
    *value = 2;
    EXPECT_EQ(ncclAllReduce(value, value, 1, ncclFloat32, ncclSum, communicator, rank.stream), ncclInProgress);
    EXPECT_EQ(await(communicator), ncclSuccess);
    rank.synchronize();
    EXPECT_EQ(*value, 4.0f);
    EXPECT_EQ(ncclCommFinalize(communicator), ncclInProgress);
    EXPECT_EQ(await(communicator), ncclSuccess);
    EXPECT_NCCL(ncclCommDestroy(communicator));
  });
}

TEST(Communicator, NonBlockingInitThatNobodyJoinsCanBeAborted) {
  ranks::run(1, [](const Rank& rank) {
    ncclConfig_t config = config_with(0);
    ncclComm_t communicator = nullptr;
    EXPECT_EQ(ncclCommInitRankConfig(&communicator, 2, rank.unique_id(), 0, &config), ncclInProgress);
    ncclResult_t state;
    EXPECT_NCCL(ncclCommGetAsyncError(communicator, &state));
    EXPECT_EQ(state, ncclInProgress);
    EXPECT_EQ(ncclAllReduce(&state, &state, 1, ncclInt32, ncclSum, communicator, rank.stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclCommAbort(communicator));
  });
}

TEST(Communicator, RanksThatDisagreeOnTheirNumberAreRefused) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = nullptr;
    EXPECT_EQ(ncclCommInitRank(&communicator, 2 + rank.rank, rank.unique_id(), rank.rank), ncclInvalidUsage);
    EXPECT_EQ(communicator, nullptr);
    EXPECT_NE(strstr(ncclGetLastError(nullptr), "rank count"), nullptr) << ncclGetLastError(nullptr);
  });
}

TEST(Communicator, OneRankTwiceIsRefused) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = nullptr;
    EXPECT_EQ(ncclCommInitRank(&communicator, 2, rank.unique_id(), 0), ncclInvalidUsage);
  });
}

TEST(Communicator, OneDeviceTwiceIsRefused) {
  ranks::run(2, [](const Rank& rank) {
    CUcontext first;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(first), CUDA_SUCCESS);
    ncclComm_t communicator = nullptr;
    EXPECT_EQ(ncclCommInitRank(&communicator, 2, rank.unique_id(), rank.rank), ncclInvalidUsage);
    EXPECT_NE(strstr(ncclGetLastError(nullptr), "Duplicate GPU"), nullptr);
  });
}

TEST(Communicator, OneDeviceOnEachOfTwoHostsIsNotTwiceTheSame) {
  ranks::run(2,
             [](const Rank& rank) {
               CUcontext first;
               EXPECT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
               EXPECT_EQ(cuCtxSetCurrent(first), CUDA_SUCCESS);
               CUstream stream;
               EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
               Rank there{rank.rank, rank.ranks, rank.shared, first, stream};
               EXPECT_EQ(sum_of_ranks(there, rank.make_communicator(), 1), 2);
             },
             {{"SIMNODE_HOSTS", "2"}});
}

TEST(Communicator, BadArgumentsOfInitAreRefused) {
  ranks::run(1, [](const Rank& rank) {
    ncclUniqueId id = rank.unique_id(), garbage{};
    ncclComm_t communicator = nullptr;
    EXPECT_EQ(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument);
    EXPECT_EQ(ncclCommInitRank(&communicator, 0, id, 0), ncclInvalidArgument);
    EXPECT_EQ(ncclCommInitRank(&communicator, 2, id, 2), ncclInvalidArgument);
    EXPECT_EQ(ncclCommInitRank(&communicator, 2, id, -1), ncclInvalidArgument);
    EXPECT_EQ(ncclCommInitRank(&communicator, 1, garbage, 0), ncclInvalidArgument);
    EXPECT_EQ(ncclGetUniqueId(nullptr), ncclInvalidArgument);
    ncclConfig_t config = config_with(7);
    EXPECT_EQ(ncclCommInitRankConfig(&communicator, 1, id, 0, &config), ncclInvalidArgument);
    config = config_with(1);
    config.magic = 0;
    EXPECT_EQ(ncclCommInitRankConfig(&communicator, 1, id, 0, &config), ncclInvalidArgument);
    int devices[] = {0, 0}, far[] = {17};
    EXPECT_EQ(ncclCommInitAll(&communicator, 2, devices), ncclInvalidUsage);
    EXPECT_EQ(ncclCommInitAll(&communicator, 1, far), ncclInvalidArgument);
    EXPECT_EQ(ncclCommInitAll(&communicator, 9, nullptr), ncclInvalidArgument) << "more ranks than devices";
  });
}

TEST(Communicator, AnIdWhoseOwnerIsDoneIsARemoteError) {
  ranks::run(1, [](const Rank& rank) {
    ncclUniqueId id = rank.unique_id();
    ncclComm_t communicator = nullptr, again = nullptr;
    EXPECT_NCCL(ncclCommInitRank(&communicator, 1, id, 0));
    EXPECT_EQ(ncclCommInitRank(&again, 1, id, 0), ncclRemoteError);
  });
}

TEST(Communicator, ScalableInitTakesSeveralIds) {
  ranks::run(2, [](const Rank& rank) {
    ncclUniqueId first = rank.unique_id();
    rank.enter_stage(1);
    if (rank.rank == 0) {
      EXPECT_NCCL(ncclGetUniqueId(&rank.shared->id));
    }
    rank.enter_stage(2);
    ncclUniqueId ids[] = {first, rank.shared->id};
    ncclComm_t communicator = nullptr;
    EXPECT_EQ(ncclCommInitRankScalable(&communicator, 2, rank.rank, 3, ids, nullptr), ncclInvalidArgument);
    EXPECT_NCCL(ncclCommInitRankScalable(&communicator, 2, rank.rank, 2, ids, nullptr));
    EXPECT_EQ(sum_of_ranks(rank, communicator, 1), 2);
  });
}

TEST(Communicator, HandlesThatDoNotExistAreRefusedNotFollowed) {
  ranks::run(1, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    auto never = reinterpret_cast<ncclComm_t>(0x1234);
    float* buffer = reinterpret_cast<float*>(rank.allocate(kCount * sizeof(float)));
    int number;
    ncclResult_t error;
    EXPECT_NCCL(ncclCommDestroy(communicator));
    for (ncclComm_t bad : {never, communicator, static_cast<ncclComm_t>(nullptr)}) {
      EXPECT_EQ(ncclAllReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, bad, rank.stream), ncclInvalidArgument);
      EXPECT_EQ(ncclCommCount(bad, &number), ncclInvalidArgument);
      EXPECT_EQ(ncclCommGetAsyncError(bad, &error), ncclInvalidArgument);
      EXPECT_EQ(ncclCommSplit(bad, 0, 0, &communicator, nullptr), ncclInvalidArgument);
      EXPECT_EQ(ncclCommFinalize(bad), ncclInvalidArgument);
    }
    EXPECT_EQ(ncclCommDestroy(never), ncclInvalidArgument);
    EXPECT_EQ(ncclCommAbort(never), ncclInvalidArgument);
    EXPECT_NCCL(ncclCommDestroy(nullptr));
  });
}

TEST(Communicator, BadArgumentsOfCollectivesAreRefused) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    auto* buffer = reinterpret_cast<float*>(rank.allocate(kCount * sizeof(float)));
    auto reduce = [&](const void* send, void* recv, size_t count, int type, int op) {
      return ncclAllReduce(send, recv, count, static_cast<ncclDataType_t>(type), static_cast<ncclRedOp_t>(op),
                           communicator, rank.stream);
    };
    EXPECT_EQ(reduce(nullptr, buffer, kCount, ncclFloat32, ncclSum), ncclInvalidArgument);
    EXPECT_EQ(reduce(buffer, nullptr, kCount, ncclFloat32, ncclSum), ncclInvalidArgument);
    EXPECT_EQ(reduce(buffer, buffer, kCount, 99, ncclSum), ncclInvalidArgument);
    EXPECT_EQ(reduce(buffer, buffer, kCount, -1, ncclSum), ncclInvalidArgument);
    EXPECT_EQ(reduce(buffer, buffer, kCount, ncclFloat32, ncclNumOps), ncclInvalidArgument)
        << "an operator nobody made";
    EXPECT_EQ(reduce(buffer, buffer, SIZE_MAX / 2, ncclFloat32, ncclSum), ncclInvalidArgument);
    EXPECT_EQ(ncclBroadcast(buffer, buffer, kCount, ncclFloat32, 2, communicator, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclReduce(buffer, buffer, kCount, ncclFloat32, ncclSum, -1, communicator, rank.stream),
              ncclInvalidArgument);
    EXPECT_EQ(ncclRecv(buffer, kCount, ncclFloat32, 5, communicator, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclSend(buffer, kCount, ncclFloat32, rank.rank, communicator, rank.stream), ncclInvalidUsage)
        << "a send to oneself that nobody can receive";
    EXPECT_NCCL(reduce(nullptr, nullptr, 0, ncclFloat32, ncclSum)) << "nothing is nothing to do";
    EXPECT_EQ(sum_of_ranks(rank, communicator, 1), 2) << "none of this has hurt the communicator";
  });
}

TEST(Communicator, OperatorsBelongToTheirTypeAndTheirCommunicator) {
  ranks::run(1, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    auto* buffer = reinterpret_cast<float*>(rank.allocate(kCount * sizeof(float)));
    ncclRedOp_t op;
    float scalar = 2;
    EXPECT_NCCL(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat32, ncclScalarHostImmediate, communicator));
    EXPECT_EQ(ncclAllReduce(buffer, buffer, 1, ncclInt32, op, communicator, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclRedOpDestroy(ncclSum, communicator), ncclInvalidArgument);
    EXPECT_NCCL(ncclRedOpDestroy(op, communicator));
    EXPECT_EQ(ncclRedOpDestroy(op, communicator), ncclInvalidArgument);
    EXPECT_EQ(ncclRedOpCreatePreMulSum(nullptr, &scalar, ncclFloat32, ncclScalarHostImmediate, communicator),
              ncclInvalidArgument);
  });
}

TEST(Communicator, MemoryAndRegistrationsComeAndGo) {
  ranks::run(1, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    void *memory = nullptr, *handle = nullptr, *pointer = nullptr;
    ncclWindow_t window = nullptr;
    EXPECT_NCCL(ncclMemAlloc(&memory, 4096));
    EXPECT_NCCL(ncclCommRegister(communicator, memory, 4096, &handle));
    EXPECT_NCCL(ncclCommDeregister(communicator, handle));
    EXPECT_EQ(ncclCommDeregister(communicator, handle), ncclInvalidArgument);
    EXPECT_NCCL(ncclCommWindowRegister(communicator, memory, 4096, &window, 0));
    EXPECT_NCCL(ncclWinGetUserPtr(communicator, window, &pointer));
    EXPECT_EQ(pointer, memory);
    EXPECT_NCCL(ncclCommWindowDeregister(communicator, window));
    EXPECT_NCCL(ncclMemFree(memory));
    EXPECT_EQ(ncclMemAlloc(nullptr, 4096), ncclInvalidArgument);
  });
}

TEST(Communicator, ParametersCanBeAskedFor) {
  ranks::run(1,
             [](const Rank&) {
               ncclParamHandle_t handle;
               int64_t value = 0;
               int8_t small = 0;
               const char* text = nullptr;
               EXPECT_NCCL(ncclParamBind(&handle, "NCCL_BUFFSIZE"));
               EXPECT_NCCL(ncclParamGetI64(handle, &value));
               EXPECT_EQ(value, 1 << 20);
               EXPECT_EQ(ncclParamGetI8(handle, &small), ncclInvalidArgument) << "does not fit";
               EXPECT_NCCL(ncclParamGetStr(handle, &text));
               EXPECT_STREQ(text, "1048576");
               EXPECT_EQ(ncclParamBind(&handle, "NCCL_NO_SUCH_THING"), ncclInvalidArgument);
               EXPECT_EQ(ncclParamGetStr(nullptr, &text), ncclInvalidArgument);
             },
             {{"NCCL_BUFFSIZE", "1048576"}});
}

}  // namespace
