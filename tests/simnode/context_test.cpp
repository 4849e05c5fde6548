#include "node_test.h"

#include <thread>

using Contexts = NodeTest;

TEST_F(Contexts, FormAStackPerThread) {
  CUcontext current, second;
  OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
  OK(make_context(&second, 0, 1));
  CUdevice device;
  OK(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 1);
  std::thread([&] {
    CUcontext here = second;
    EXPECT_EQ(cuCtxGetCurrent(&here), CUDA_SUCCESS);
    EXPECT_EQ(here, nullptr);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxPopCurrent(&here), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxPushCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }).join();
  OK(cuCtxPopCurrent(&current));
  EXPECT_EQ(current, second);
  OK(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
  OK(cuCtxDestroy(second));
}

TEST_F(Contexts, WithoutOneEveryCallThatNeedsItSaysSo) {
  OK(cuCtxSetCurrent(nullptr));
  CUdeviceptr pointer;
  CUstream made;
  CUmodule module;
  EXPECT_EQ(cuMemAlloc(&pointer, 16), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuStreamCreate(&made, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuModuleLoadData(&module, kPtx), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuCtxSetCurrent(context_));
}

TEST_F(Contexts, AfterDestructionAreKnownToBeGone) {
  CUcontext other;
  OK(make_context(&other, 0, 0));
  CUstream inside = stream();
  std::thread([&] {
    EXPECT_EQ(cuCtxSetCurrent(other), CUDA_SUCCESS);
    std::thread([&] {
      EXPECT_EQ(cuCtxSetCurrent(other), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
    }).join();
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  }).join();
  EXPECT_EQ(cuCtxDestroy(other), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxPushCurrent(other), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuCtxSetCurrent(context_));
  EXPECT_EQ(cuStreamSynchronize(inside), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Contexts, RefuseUnknownFlags) {
  CUcontext other;
  EXPECT_EQ(make_context(&other, 0x3, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(make_context(&other, 0x80000000u, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(make_context(nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Contexts, OfEveryWaitingModeWaitForTheDevice) {
  for (unsigned flags : {CU_CTX_SCHED_AUTO, CU_CTX_SCHED_SPIN, CU_CTX_SCHED_YIELD, CU_CTX_SCHED_BLOCKING_SYNC}) {
    CUcontext other;
    CUmodule module;
    CUfunction kernel;
    OK(make_context(&other, flags, 0));
    OK(cuModuleLoadData(&module, kPtx));
    OK(cuModuleGetFunction(&kernel, module, "k1000"));
    CUevent end = event();
    Gate gate;
    OK(cuLaunchHostFunc(nullptr, Gate::wait, &gate));
    OK(launch(kernel, nullptr));
    OK(cuEventRecord(end, nullptr));
    EXPECT_EQ(cuEventQuery(end), CUDA_ERROR_NOT_READY) << flags;
    std::thread opener([&] { gate.open = true; });
    OK(cuCtxSynchronize());
    EXPECT_EQ(cuEventQuery(end), CUDA_SUCCESS) << flags;
    opener.join();
    OK(cuCtxDestroy(other));
  }
}

TEST_F(Contexts, KeepLimits) {
  size_t value;
  OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
  OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(value, 4096u);
  EXPECT_EQ(cuCtxGetLimit(&value, static_cast<CUlimit>(1000)), CUDA_ERROR_UNSUPPORTED_LIMIT);
}

TEST_F(Contexts, HandlesThatWereNeverMadeAreErrors) {
  auto wild = reinterpret_cast<CUcontext>(0x1234);
  unsigned version;
  EXPECT_EQ(cuCtxSetCurrent(wild), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy(wild), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxGetApiVersion(wild, &version), CUDA_ERROR_INVALID_CONTEXT);
  // A handle of another kind, and one in the middle of a slot.
  EXPECT_EQ(cuCtxSetCurrent(reinterpret_cast<CUcontext>(module_)), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(reinterpret_cast<CUcontext>(reinterpret_cast<char*>(context_) + 8)),
            CUDA_ERROR_INVALID_CONTEXT);
}
