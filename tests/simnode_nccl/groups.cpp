// Groups: what is fused into one launch, several communicators at once, several devices of one thread, graphs.
#include "ranks.h"

#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using ranks::Rank;

constexpr size_t kCount = 1000;

struct Buffers {
  float *send, *recv;
  explicit Buffers(const Rank& rank, size_t count = kCount)
      : send(reinterpret_cast<float*>(rank.allocate(count * sizeof(float)))),
        recv(reinterpret_cast<float*>(rank.allocate(count * sizeof(float)))) {
    for (size_t i = 0; i < count; ++i) send[i] = static_cast<float>(rank.rank + 1);
  }
};

// The simulated driver looks for SIMNODE_COUNTS when it is loaded, which is before main: so this program starts itself again.
__attribute__((constructor)) void start_counted(int, char** arguments, char**) {
  if (getenv("SIMNODE_COUNTS") != nullptr) return;
  char folder[] = "/tmp/simnode_nccl.XXXXXX";
  if (mkdtemp(folder) == nullptr) return;
  setenv("SIMNODE_COUNTS", folder, 1);
  execv("/proc/self/exe", arguments);
}

class CountFolder : public testing::Environment {
  void TearDown() override { std::filesystem::remove_all(getenv("SIMNODE_COUNTS")); }
};
const auto* const g_folder = testing::AddGlobalTestEnvironment(new CountFolder);

long count_of(const char* name) {
  std::ostringstream path;
  path << getenv("SIMNODE_COUNTS") << "/" << getpid() << ".json";
  std::ifstream file(path.str());
  std::stringstream text;
  text << file.rdbuf();
  std::string quoted = "\"";
  quoted.append(name).append("\":");
  size_t at = text.str().find(quoted);
  return at == std::string::npos ? 0 : strtol(text.str().c_str() + at + quoted.size(), nullptr, 10);
}

TEST(Groups, EachCollectiveIsOneKernelAndAGroupIsOneKernelPerCommunicator) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    Buffers buffers(rank);
    for (int i = 0; i < 5; ++i)
      EXPECT_NCCL(ncclAllReduce(buffers.send, buffers.recv, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
    EXPECT_EQ(count_of("cuLaunchKernelEx"), 5);
    EXPECT_NCCL(ncclGroupStart());
    EXPECT_NCCL(ncclAllReduce(buffers.send, buffers.recv, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
    EXPECT_NCCL(ncclBroadcast(buffers.send, buffers.send, kCount, ncclFloat32, 1, communicator, rank.stream));
    EXPECT_NCCL(ncclSend(buffers.send, kCount, ncclFloat32, 1 - rank.rank, communicator, rank.stream));
    EXPECT_NCCL(ncclRecv(buffers.recv, kCount, ncclFloat32, 1 - rank.rank, communicator, rank.stream));
    EXPECT_EQ(count_of("cuLaunchKernelEx"), 5) << "nothing is launched before the group ends";
    EXPECT_NCCL(ncclGroupEnd());
    EXPECT_EQ(count_of("cuLaunchKernelEx"), 6);
    rank.synchronize();
    EXPECT_EQ(buffers.recv[7], 2.0f) << "the receive comes after the broadcast of the same group";
    EXPECT_EQ(count_of("ncclAllReduce"), 6);
    EXPECT_EQ(count_of("ncclSend"), 1);
  });
}

TEST(Groups, NestOnlyTheOutermostEndLaunches) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    Buffers buffers(rank);
    EXPECT_NCCL(ncclGroupStart());
    EXPECT_NCCL(ncclGroupStart());
    EXPECT_NCCL(ncclSend(buffers.send, kCount, ncclFloat32, 1 - rank.rank, communicator, rank.stream));
    EXPECT_NCCL(ncclGroupEnd());
    EXPECT_EQ(count_of("cuLaunchKernelEx"), 0);
    EXPECT_NCCL(ncclRecv(buffers.recv, kCount, ncclFloat32, 1 - rank.rank, communicator, rank.stream));
    EXPECT_NCCL(ncclGroupEnd());
    rank.synchronize();
    EXPECT_EQ(buffers.recv[kCount - 1], static_cast<float>(2 - rank.rank));
  });
}

TEST(Groups, MixCommunicatorsAndStreams) {
  ranks::run(4, [](const Rank& rank) {
    ncclComm_t world = rank.make_communicator(), half = nullptr;
    EXPECT_NCCL(ncclCommSplit(world, rank.rank / 2, rank.rank, &half, nullptr));
    Buffers of_world(rank), of_half(rank);
    CUstream other;
    EXPECT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    for (int round = 0; round < 20; ++round) {
      EXPECT_NCCL(ncclGroupStart());
      EXPECT_NCCL(ncclAllReduce(of_half.send, of_half.recv, kCount, ncclFloat32, ncclSum, half, other));
      EXPECT_NCCL(ncclAllReduce(of_world.send, of_world.recv, kCount, ncclFloat32, ncclSum, world, rank.stream));
      EXPECT_NCCL(ncclGroupEnd());
    }
    rank.synchronize();
    EXPECT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
    EXPECT_EQ(of_world.recv[3], 10.0f);
    EXPECT_EQ(of_half.recv[3], rank.rank < 2 ? 3.0f : 7.0f);
    EXPECT_NCCL(ncclCommDestroy(half));
    EXPECT_NCCL(ncclCommDestroy(world));
  });
}

TEST(Groups, OneCommunicatorOnTwoStreamsKeepsTheOrderOfItsCalls) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    Buffers buffers(rank);
    CUstream other;
    EXPECT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    for (int round = 0; round < 50; ++round) {
      CUstream stream = round % 2 == 0 ? rank.stream : other;
      EXPECT_NCCL(ncclAllReduce(buffers.send, buffers.recv, kCount, ncclFloat32, ncclSum, communicator, stream));
      EXPECT_NCCL(ncclBroadcast(buffers.recv, buffers.recv, kCount, ncclFloat32, 0, communicator, stream));
    }
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(buffers.recv[0], 3.0f);
    rank.enter_stage(1);
    ncclResult_t error;
    EXPECT_NCCL(ncclCommGetAsyncError(communicator, &error));
    EXPECT_EQ(error, ncclSuccess);
    rank.enter_stage(2);
  });
}

TEST(Groups, OneThreadDrivesAllDevicesOfAProcess) {
  ranks::run(
      1,
      [](const Rank&) {
        constexpr int kDevices = 4;
        ncclComm_t communicators[kDevices];
        ASSERT_NCCL(ncclCommInitAll(communicators, kDevices, nullptr));
        float *sends[kDevices], *recvs[kDevices];
        CUstream streams[kDevices];
        for (int i = 0; i < kDevices; ++i) {
          CUcontext context;
          EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, i), CUDA_SUCCESS);
          EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
          EXPECT_EQ(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
          CUdeviceptr pointer;
          EXPECT_EQ(cuMemAlloc(&pointer, 2 * kCount * sizeof(float)), CUDA_SUCCESS);
          sends[i] = reinterpret_cast<float*>(pointer);
          recvs[i] = sends[i] + kCount;
          for (size_t j = 0; j < kCount; ++j) sends[i][j] = static_cast<float>(i + 1);
          int device = -1, rank = -1;
          EXPECT_NCCL(ncclCommCuDevice(communicators[i], &device));
          EXPECT_NCCL(ncclCommUserRank(communicators[i], &rank));
          EXPECT_EQ(device, i);
          EXPECT_EQ(rank, i);
        }
        EXPECT_NCCL(ncclGroupStart());
        for (int i = 0; i < kDevices; ++i)
          EXPECT_NCCL(ncclAllReduce(sends[i], recvs[i], kCount, ncclFloat32, ncclSum, communicators[i], streams[i]));
        EXPECT_NCCL(ncclGroupEnd());
        for (int i = 0; i < kDevices; ++i) {
          CUcontext context;
          EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, i), CUDA_SUCCESS);
          EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
          EXPECT_EQ(cuStreamSynchronize(streams[i]), CUDA_SUCCESS);
          EXPECT_EQ(recvs[i][kCount - 1], 10.0f);
        }
        for (ncclComm_t communicator : communicators) EXPECT_NCCL(ncclCommDestroy(communicator));
      },
      {{"SIMNODE_GPUS", "4"}});
}

TEST(Groups, CapturedCollectivesRunAtEveryLaunchOfTheGraph) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    Buffers buffers(rank);
    EXPECT_EQ(cuStreamBeginCapture(rank.stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_NCCL(ncclAllReduce(buffers.send, buffers.recv, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
    EXPECT_NCCL(ncclAllReduce(buffers.recv, buffers.send, kCount, ncclFloat32, ncclMax, communicator, rank.stream));
    CUgraph graph;
    CUgraphExec executable;
    EXPECT_EQ(cuStreamEndCapture(rank.stream, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    for (int launch = 0; launch < 10; ++launch) {
      for (size_t i = 0; i < kCount; ++i) buffers.send[i] = static_cast<float>(launch + rank.rank);
      EXPECT_EQ(cuGraphLaunch(executable, rank.stream), CUDA_SUCCESS);
      rank.synchronize();
      EXPECT_EQ(buffers.send[5], static_cast<float>(2 * launch + 1));
      EXPECT_NCCL(ncclAllReduce(buffers.send, buffers.recv, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
      rank.synchronize();
      EXPECT_EQ(buffers.recv[5], static_cast<float>(4 * launch + 2));
    }
  });
}

TEST(Groups, AnErrorInsideIsTheGroupsErrorAndNothingIsLaunched) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    Buffers buffers(rank);
    EXPECT_NCCL(ncclGroupStart());
    EXPECT_NCCL(ncclAllReduce(buffers.send, buffers.recv, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
    EXPECT_EQ(ncclSend(buffers.send, kCount, ncclFloat32, 9, communicator, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    EXPECT_EQ(count_of("cuLaunchKernelEx"), 0);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage) << "no group is open";
  });
}

TEST(Groups, SimulatingTheEndDropsTheGroup) {
  ranks::run(2, [](const Rank& rank) {
    ncclComm_t communicator = rank.make_communicator();
    Buffers buffers(rank);
    ncclSimInfo_t estimate{sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION_CODE, -1.0f};
    EXPECT_NCCL(ncclGroupStart());
    EXPECT_NCCL(ncclAllReduce(buffers.send, buffers.recv, kCount, ncclFloat32, ncclSum, communicator, rank.stream));
    EXPECT_NCCL(ncclGroupSimulateEnd(&estimate));
    EXPECT_GT(estimate.estimatedTime, 0.0f);
    EXPECT_EQ(count_of("cuLaunchKernelEx"), 0);
  });
}

}  // namespace
