// Compiled as a program that asked for per-thread default streams: every name below is its `_ptsz` or `_ptds` form.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "node_test.h"

#include <atomic>
#include <thread>

using PerThread = NodeTest;

TEST_F(PerThread, NullStreamsOfTwoThreadsDoNotWaitForEachOther) {
  Gate gate;
  OK(cuLaunchHostFunc(nullptr, Gate::wait, &gate));
  std::thread([&] {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(launch("k10", nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    CUdeviceptr pointer = allocate(16);
    int value = 5, back = 0;
    EXPECT_EQ(cuMemcpyHtoD(pointer, &value, 4), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(&back, pointer, 4), CUDA_SUCCESS);
    EXPECT_EQ(back, 5);
  }).join();
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  gate.open = true;
  OK(cuStreamSynchronize(nullptr));
}

TEST_F(PerThread, LaunchConfigurationsWithoutStreamMeanTheThreadsOwn) {
  Gate gate;
  OK(cuLaunchHostFunc(nullptr, Gate::wait, &gate));
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  OK(cuLaunchKernelEx(&config, function("k10"), nullptr, nullptr));
  CUevent after = recorded(nullptr);
  EXPECT_EQ(cuEventQuery(after), CUDA_ERROR_NOT_READY);  // behind the gate, so in the same stream
  gate.open = true;
  OK(cuEventSynchronize(after));
  EXPECT_EQ(config.hStream, nullptr);
}
