// What the tests of the simulated driver share: a context on device 0, a module with a few kernels, and checks of results.
// The binary runs with exact times (exact_times.h), SIMNODE_LAUNCH_US=0 and the durations below (main.cpp), two devices.
#pragma once
#include <cuda.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#define OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

// Durations: k100 is 100 us, k1000 1 ms, slow 30 ms, everything else 10 us.
inline constexpr char kSettings[] = "k100=100;k1000=1000;slow=30000;*=10";

inline constexpr char kPtx[] = R"(
.version 7.0  // a comment with .entry inside
.target sm_50
.address_size 64
/* .visible .entry commented_out() { ret; } */
.visible .global .align 8 .b8 table[96];
.global .u32 counter = 7;
.extern .global .u64 elsewhere;

.visible .entry k10() { ret; }
.visible .entry k100() { ret; }
.visible .entry k1000() { ret; }
.visible .entry slow() { ret; }
.visible .entry add(
  .param .u64 .ptr .global .align 4 out,
  .param .u64 in,
  .param .f32 factor,
  .param .u32 count
)
.maxntid 256, 1, 1
{
  .shared .align 4 .b8 scratch[512];
  ret;
}
.visible .entry mixed(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[40], .param .u16 d) { ret; }
.visible .entry bad() { ret; }
)";

// cuCtxCreate took another parameter in CUDA 13.
inline CUresult make_context(CUcontext* context, unsigned flags, CUdevice device) {
#if CUDA_VERSION >= 13000
  return cuCtxCreate(context, nullptr, flags, device);
#else
  return cuCtxCreate(context, flags, device);
#endif
}

// A host function that holds its stream until it is told to go on, so that nothing depends on this machine's speed.
struct Gate {
  std::atomic<bool> open{false};
  static void CUDA_CB wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open) std::this_thread::yield();
  }
};

class NodeTest : public testing::Test {
 protected:
  void SetUp() override {
    OK(cuInit(0));
    OK(cuDeviceGet(&device_, 0));
    OK(make_context(&context_, CU_CTX_SCHED_YIELD, device_));
    OK(cuModuleLoadData(&module_, kPtx));
  }
  void TearDown() override { cuCtxDestroy(context_); }

  CUfunction function(const char* name) {
    CUfunction found = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&found, module_, name), CUDA_SUCCESS) << name;
    return found;
  }
  CUresult launch(CUfunction kernel, CUstream stream, void** parameters = nullptr) {
    return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
  }
  CUresult launch(const char* name, CUstream stream) { return launch(function(name), stream); }
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream made = nullptr;
    EXPECT_EQ(cuStreamCreate(&made, flags), CUDA_SUCCESS);
    return made;
  }
  CUevent event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent made = nullptr;
    EXPECT_EQ(cuEventCreate(&made, flags), CUDA_SUCCESS);
    return made;
  }
  CUevent recorded(CUstream where) {
    CUevent made = event();
    EXPECT_EQ(cuEventRecord(made, where), CUDA_SUCCESS);
    return made;
  }
  // Modelled time between two events, in microseconds.
  double elapsed_us(CUevent from, CUevent to) {
    float ms = -1;
    EXPECT_EQ(cuEventElapsedTime(&ms, from, to), CUDA_SUCCESS);
    return static_cast<double>(ms) * 1000;
  }
  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc(&pointer, bytes), CUDA_SUCCESS);
    return pointer;
  }

  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
};
