#include "node_test.h"

#include <cstring>
#include <numeric>

using Memory = NodeTest;

TEST_F(Memory, CountsWhatIsTaken) {
  size_t before, after, total;
  OK(cuMemGetInfo(&before, &total));
  CUdeviceptr pointer = allocate(size_t{1} << 30);
  OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before - after, size_t{1} << 30);
  OK(cuMemFree(pointer));
  OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

TEST_F(Memory, RunsOut) {
  size_t free, total;
  OK(cuMemGetInfo(&free, &total));
  CUdeviceptr pointer;
  EXPECT_EQ(cuMemAlloc(&pointer, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr most = allocate(free / 4 * 3);
  EXPECT_EQ(cuMemAlloc(&pointer, free / 2), CUDA_ERROR_OUT_OF_MEMORY);
  OK(cuMemFree(most));
  OK(cuMemAlloc(&pointer, free / 2));
  OK(cuMemFree(pointer));
}

TEST_F(Memory, WrongPointersAreErrors) {
  CUdeviceptr pointer = allocate(4096);
  EXPECT_EQ(cuMemFree(pointer + 512), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(0x1000), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemFree(pointer));
  EXPECT_EQ(cuMemFree(pointer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
  int on_stack;
  EXPECT_EQ(cuMemFreeHost(&on_stack), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(&on_stack), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(Memory, NeighboursJoinWhenFreed) {
  size_t free, total;
  OK(cuMemGetInfo(&free, &total));
  std::vector<CUdeviceptr> pieces;
  for (int i = 0; i < 8; ++i) pieces.push_back(allocate(free / 10));
  for (int i : {1, 3, 5, 7, 0, 2, 4, 6}) OK(cuMemFree(pieces[static_cast<size_t>(i)]));
  CUdeviceptr whole;
  OK(cuMemAlloc(&whole, free / 10 * 9));
  OK(cuMemFree(whole));
}

TEST_F(Memory, TellsWhatAPointerIs) {
  CUdeviceptr device = allocate(1000), managed;
  void* pinned;
  OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemAllocHost(&pinned, 64));
  unsigned type;
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 999));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(pinned)));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
  unsigned is_managed;
  OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
  EXPECT_EQ(is_managed, 1u);
  CUcontext owner;
  OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, device));
  EXPECT_EQ(owner, context_);
  CUdeviceptr base;
  size_t bytes;
  OK(cuMemGetAddressRange(&base, &bytes, device + 17));
  EXPECT_EQ(base, device);
  EXPECT_EQ(bytes, 1000u);
  int local;
  auto unknown = reinterpret_cast<CUdeviceptr>(&local);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, unknown), CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT};
  void* answers[] = {&type, &owner};
  OK(cuPointerGetAttributes(2, asked, answers, unknown));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(owner, nullptr);
  OK(cuMemFreeHost(pinned));
}

TEST_F(Memory, ManagedIsReachedFromTheHost) {
  CUdeviceptr managed;
  OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  memset(reinterpret_cast<void*>(managed), 7, 4096);
  char back = 0;
  OK(cuMemcpyDtoH(&back, managed + 4095, 1));
  EXPECT_EQ(back, 7);
  EXPECT_EQ(cuMemAllocManaged(&managed, 4096, 99), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, RegisteringTwiceIsAnError) {
  std::vector<char> host(8192);
  OK(cuMemHostRegister(host.data(), host.size(), 0));
  EXPECT_EQ(cuMemHostRegister(host.data(), host.size(), 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CUdeviceptr seen;
  OK(cuMemHostGetDevicePointer(&seen, host.data(), 0));
  EXPECT_EQ(seen, reinterpret_cast<CUdeviceptr>(host.data()));
  OK(cuMemHostUnregister(host.data()));
}

TEST_F(Memory, VirtualMappingsShareWhatTheyMap) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = 0;
  size_t granularity;
  OK(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr address;
  CUmemGenericAllocationHandle handle;
  OK(cuMemAddressReserve(&address, 2 * granularity, 0, 0, 0));
  OK(cuMemCreate(&handle, granularity, &properties, 0));
  OK(cuMemMap(address, granularity, 0, handle, 0));
  OK(cuMemMap(address + granularity, granularity, 0, handle, 0));
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  OK(cuMemSetAccess(address, 2 * granularity, &access, 1));
  OK(cuMemsetD8(address, 42, 16));
  unsigned char seen = 0;
  OK(cuMemcpyDtoH(&seen, address + granularity, 1));
  EXPECT_EQ(seen, 42);
  EXPECT_EQ(cuMemMap(address, granularity, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemUnmap(address, 2 * granularity));
  OK(cuMemRelease(handle));
  EXPECT_EQ(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemAddressFree(address, 2 * granularity));
  EXPECT_EQ(cuMemAddressReserve(&address, 12345, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, PoolsFreeInStreamOrder) {
  CUstream one = stream();
  CUdeviceptr pointer;
  OK(cuMemAllocAsync(&pointer, 1024, one));
  std::vector<char> from(1024, 3), back(1024);
  OK(cuMemcpyHtoDAsync(pointer, from.data(), from.size(), one));
  OK(cuMemcpyDtoHAsync(back.data(), pointer, back.size(), one));
  OK(cuMemFreeAsync(pointer, one));
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(from, back);
  EXPECT_EQ(cuMemFreeAsync(pointer, one), CUDA_ERROR_INVALID_VALUE);
  CUmemoryPool pool;
  OK(cuDeviceGetDefaultMemPool(&pool, 0));
  cuuint64_t used, threshold = 1 << 20;
  OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(used, 0u);
  OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
}
