#include "node_test.h"

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

using Copies = NodeTest;

namespace {

std::vector<uint32_t> numbers(size_t count) {
  std::vector<uint32_t> all(count);
  std::iota(all.begin(), all.end(), 1u);
  return all;
}

}  // namespace

TEST_F(Copies, MoveBytesThereAndBack) {
  auto from = numbers(100000);
  std::vector<uint32_t> back(from.size());
  size_t bytes = from.size() * sizeof from[0];
  CUdeviceptr one = allocate(bytes), two = allocate(bytes);
  OK(cuMemcpyHtoD(one, from.data(), bytes));
  OK(cuMemcpyDtoD(two, one, bytes));
  OK(cuMemcpyDtoH(back.data(), two, bytes));
  EXPECT_EQ(from, back);
}

TEST_F(Copies, KeepStreamOrder) {
  CUstream one = stream();
  auto from = numbers(64);
  std::vector<uint32_t> back(64);
  CUdeviceptr device = allocate(256);
  Gate gate;
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  OK(cuMemcpyHtoDAsync(device, from.data(), 256, one));
  OK(cuMemsetD32Async(device, 9, 1, one));
  std::thread opener([&] { gate.open = true; });
  OK(cuMemcpyDtoHAsync(back.data(), device, 256, one));  // to pageable memory: returns when it is there
  EXPECT_EQ(back[0], 9u);
  EXPECT_EQ(back[63], 64u);
  opener.join();
}

TEST_F(Copies, SmallPageableSourcesAreStagedBeforeTheCallReturns) {
  CUstream one = stream();
  auto from = numbers(16);
  CUdeviceptr device = allocate(64);
  Gate gate;
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  OK(cuMemcpyHtoDAsync(device, from.data(), 64, one));
  from.assign(16, 0);  // allowed now
  gate.open = true;
  uint32_t last;
  OK(cuStreamSynchronize(one));
  OK(cuMemcpyDtoH(&last, device + 60, 4));
  EXPECT_EQ(last, 16u);
}

TEST_F(Copies, PinnedOnesReturnAtOnce) {
  CUstream one = stream();
  void* pinned;
  OK(cuMemAllocHost(&pinned, 1 << 20));
  CUdeviceptr device = allocate(1 << 20);
  Gate gate;
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  OK(cuMemcpyHtoDAsync(device, pinned, 1 << 20, one));  // would hang here if it waited
  OK(cuMemcpyDtoHAsync(pinned, device, 1 << 20, one));
  EXPECT_EQ(cuStreamQuery(one), CUDA_ERROR_NOT_READY);
  gate.open = true;
  OK(cuStreamSynchronize(one));
  OK(cuMemFreeHost(pinned));
}

TEST_F(Copies, OverTheEndAreRefused) {
  CUdeviceptr device = allocate(100);
  char host[200];
  EXPECT_EQ(cuMemcpyHtoD(device, host, 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(host, device + 1, 100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(0x1000, host, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(device, nullptr, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(device, 0, 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32(device + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(device, host, 0), CUDA_SUCCESS);
}

TEST_F(Copies, TwoDimensionsRespectPitch) {
  auto from = numbers(64);  // 8 x 8
  CUdeviceptr device;
  size_t pitch;
  OK(cuMemAllocPitch(&device, &pitch, 32, 8, 4));
  EXPECT_GE(pitch, 32u);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from.data();
  copy.srcPitch = 32;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 32;
  copy.Height = 8;
  OK(cuMemcpy2D(&copy));
  uint32_t seen;
  OK(cuMemcpyDtoH(&seen, device + 3 * pitch + 5 * 4, 4));
  EXPECT_EQ(seen, from[3 * 8 + 5]);
  OK(cuMemsetD2D32(device, pitch, 77, 2, 3));
  OK(cuMemcpyDtoH(&seen, device + 2 * pitch + 4, 4));
  EXPECT_EQ(seen, 77u);
  OK(cuMemcpyDtoH(&seen, device + 2 * pitch + 8, 4));
  EXPECT_EQ(seen, from[2 * 8 + 2]);
  copy.dstPitch = 16;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.dstPitch = pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemcpy2D(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Copies, FillEveryElementSize) {
  CUdeviceptr device = allocate(64);
  uint16_t seen16[4];
  uint32_t seen32[2];
  OK(cuMemsetD16(device, 0xabcd, 4));
  OK(cuMemcpyDtoH(seen16, device, 8));
  EXPECT_EQ(seen16[3], 0xabcd);
  OK(cuMemsetD32(device, 0x12345678, 2));
  OK(cuMemcpyDtoH(seen32, device, 8));
  EXPECT_EQ(seen32[1], 0x12345678u);
}

TEST_F(Copies, BetweenDevicesWork) {
  CUcontext other;
  CUdeviceptr here = allocate(64), there;
  OK(cuMemsetD8(here, 5, 64));
  OK(cuCtxSynchronize());
  OK(make_context(&other, 0, 1));
  OK(cuMemAlloc(&there, 64));
  OK(cuMemcpyPeer(there, other, here, context_, 64));
  unsigned char seen = 0;
  OK(cuMemcpyDtoH(&seen, there + 63, 1));
  EXPECT_EQ(seen, 5);
  OK(cuCtxDestroy(other));
}
