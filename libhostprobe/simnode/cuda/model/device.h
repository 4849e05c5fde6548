// One simulated device: what a program can ask about it, its primary context, its memory.
#pragma once
#include "kernel_time.h"
#include "memory.h"
#include "node/usage.h"

#include <cuda.h>

namespace simnode {

struct Context;

struct Device {
  int ordinal = 0;
  int numa_node = 0;
  Context* primary = nullptr;
  unsigned primary_flags = CU_CTX_SCHED_AUTO;
  int primary_references = 0;
  int live_contexts = 0;
  DeviceUsage* usage = nullptr;  // what others see of it
  DeviceKernels kernels;
  Arena arena;
  CUmemoryPool default_pool = nullptr;
  CUmemoryPool current_pool = nullptr;
};

// CUDA_ERROR_NOT_INITIALIZED before cuInit, CUDA_ERROR_INVALID_DEVICE for a number that is no device.
CUresult find_device(CUdevice number, Device** device);
CUuuid uuid_of(const Device& device);
int attribute_of(const Device& device, CUdevice_attribute attribute);  // negative: unknown attribute

}  // namespace simnode
