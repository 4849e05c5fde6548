// Allocation, host memory, pointer attributes. Freeing waits for the device, as CUDA's freeing does in practice.
#include "cuda/model/memory.h"
#include "cuda/model/capture.h"
#include "cuda/model/context.h"
#include "cuda/model/device.h"
#include "cuda/model/node.h"
#include "cuda/model/stream.h"
#include "entry.h"

#include <sys/mman.h>

namespace simnode {

namespace {

constexpr size_t kPage = 4096;

CUresult allocate(CUdeviceptr* pointer, size_t bytes, MemoryKind kind) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  stall_allocation(*context);
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIMNODE_TRY(check_unsafe_call());
  return allocate_on(*context->device, context, bytes, 512, kind, pointer);
}

CUresult allocate_host(void** pointer, size_t bytes, unsigned flags) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  stall_allocation(*context);
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  SIMNODE_TRY(check_unsafe_call());
  size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  void* mapped = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation allocation;
  allocation.address = reinterpret_cast<uintptr_t>(mapped);
  allocation.bytes = rounded;
  allocation.kind = MemoryKind::kPinned;
  allocation.device = context->device;
  allocation.context = context;
  allocation.flags = flags;
  note_allocation(allocation);
  *pointer = mapped;
  return CUDA_SUCCESS;
}

CUresult pointer_attribute(void* out, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const Allocation* allocation = allocation_holding(pointer);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (allocation == nullptr) {
    // cuda.h: for memory that CUDA does not know these two have an answer, everything else is an error.
    if (attribute == CU_POINTER_ATTRIBUTE_MAPPED) return *static_cast<int*>(out) = 0, CUDA_SUCCESS;
    if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED) return *static_cast<unsigned*>(out) = 0, CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_VALUE;
  }
  bool device = on_device(*allocation);
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(out) = allocation->context != nullptr ? allocation->context->handle : nullptr;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(out) = device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(out) = pointer;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (allocation->kind == MemoryKind::kDevice || allocation->kind == MemoryKind::kMapped ||
          allocation->kind == MemoryKind::kImported)
        return CUDA_ERROR_INVALID_VALUE;
      *static_cast<void**>(out) = reinterpret_cast<void*>(pointer);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      *static_cast<unsigned*>(out) = allocation->sync_memops;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(out) = allocation->id;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(out) = allocation->kind == MemoryKind::kManaged;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(out) = allocation->device->ordinal;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<unsigned*>(out) = allocation->kind == MemoryKind::kDevice;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(out) = allocation->address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(out) = allocation->bytes;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<int*>(out) = 1;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      *static_cast<unsigned long long*>(out) = 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      *static_cast<int*>(out) = 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      *static_cast<int*>(out) = 3;  // read and write
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<CUmemoryPool*>(out) = allocation->pool;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

size_t width_of(CUpointer_attribute attribute) {
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return 4;
    default:
      return 8;
  }
}

}  // namespace

SIMNODE_ENTRY(cuMemGetInfo_v2)(size_t* free_bytes, size_t* total_bytes) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (free_bytes == nullptr || total_bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *total_bytes = static_cast<size_t>(g_node->settings.memory_bytes);
  *free_bytes = *total_bytes - context->device->arena.used_bytes();
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemAlloc_v2)(CUdeviceptr* pointer, size_t bytes) {
  return allocate(pointer, bytes, MemoryKind::kDevice);
}

SIMNODE_ENTRY(cuMemAllocPitch_v2)
(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height, unsigned int element_bytes) {
  if (pitch == nullptr || (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
    return CUDA_ERROR_INVALID_VALUE;
  *pitch = (width + 511) / 512 * 512;
  return allocate(pointer, *pitch * height, MemoryKind::kDevice);
}

SIMNODE_ENTRY(cuMemAllocManaged)(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  return allocate(pointer, bytes, MemoryKind::kManaged);
}

SIMNODE_ENTRY(cuMemFree_v2)(CUdeviceptr pointer) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (pointer == 0) return CUDA_SUCCESS;
  SIMNODE_TRY(check_unsafe_call());
  Allocation* allocation = allocation_at(pointer);
  bool freed_here =
      allocation != nullptr && (allocation->kind == MemoryKind::kDevice || allocation->kind == MemoryKind::kManaged);
  if (!freed_here) return CUDA_ERROR_INVALID_VALUE;
  stall_allocation(*context);
  wait_for_all(*context);
  allocation = allocation_at(pointer);  // another thread may have freed it meanwhile
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  free_allocation(*allocation);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemGetAddressRange_v2)(CUdeviceptr* base, size_t* bytes, CUdeviceptr pointer) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  const Allocation* allocation = allocation_holding(pointer);
  if (allocation == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = allocation->address;
  if (bytes != nullptr) *bytes = allocation->bytes;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemAllocHost_v2)(void** pointer, size_t bytes) { return allocate_host(pointer, bytes, 0); }

SIMNODE_ENTRY(cuMemHostAlloc)(void** pointer, size_t bytes, unsigned int flags) {
  constexpr unsigned kKnown = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  return allocate_host(pointer, bytes, flags);
}

SIMNODE_ENTRY(cuMemFreeHost)(void* pointer) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  Allocation* allocation = allocation_at(reinterpret_cast<uintptr_t>(pointer));
  if (allocation == nullptr || allocation->kind != MemoryKind::kPinned) return CUDA_ERROR_INVALID_VALUE;
  if (allocation->context != nullptr) {
    stall_allocation(*allocation->context);
    wait_for_all(*allocation->context);
  }
  allocation = allocation_at(reinterpret_cast<uintptr_t>(pointer));
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  free_allocation(*allocation);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemHostRegister_v2)(void* pointer, size_t bytes, unsigned int flags) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  auto address = reinterpret_cast<uintptr_t>(pointer);
  if (allocation_holding(address) != nullptr || allocation_holding(address + bytes - 1) != nullptr)
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  Allocation allocation;
  allocation.address = address;
  allocation.bytes = bytes;
  allocation.kind = MemoryKind::kRegistered;
  allocation.device = context->device;
  allocation.context = context;
  allocation.flags = flags;
  note_allocation(allocation);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemHostUnregister)(void* pointer) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  Allocation* allocation = allocation_at(reinterpret_cast<uintptr_t>(pointer));
  if (allocation == nullptr || allocation->kind != MemoryKind::kRegistered)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  forget_allocation(allocation->address);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemHostGetDevicePointer_v2)(CUdeviceptr* device_pointer, void* pointer, unsigned int flags) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (device_pointer == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const Allocation* allocation = allocation_holding(reinterpret_cast<uintptr_t>(pointer));
  if (allocation == nullptr || on_device(*allocation)) return CUDA_ERROR_INVALID_VALUE;
  *device_pointer = reinterpret_cast<CUdeviceptr>(pointer);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemHostGetFlags)(unsigned int* flags, void* pointer) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  const Allocation* allocation = allocation_holding(reinterpret_cast<uintptr_t>(pointer));
  if (flags == nullptr || allocation == nullptr || on_device(*allocation)) return CUDA_ERROR_INVALID_VALUE;
  *flags = allocation->flags | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuPointerGetAttribute)(void* out, CUpointer_attribute attribute, CUdeviceptr pointer) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  return pointer_attribute(out, attribute, pointer);
}

// What has no answer is set to zero, and the call still succeeds.
SIMNODE_ENTRY(cuPointerGetAttributes)
(unsigned int count, CUpointer_attribute* attributes, void** out, CUdeviceptr pointer) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  if (attributes == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (out[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (pointer_attribute(out[i], attributes[i], pointer) == CUDA_SUCCESS) continue;
    for (size_t byte = 0; byte < width_of(attributes[i]); ++byte) static_cast<char*>(out[i])[byte] = 0;
    if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) *static_cast<int*>(out[i]) = -2;
  }
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuPointerSetAttribute)(const void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  Allocation* allocation = allocation_holding(pointer);
  if (value == nullptr || allocation == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
    return CUDA_ERROR_INVALID_VALUE;
  allocation->sync_memops = *static_cast<const unsigned*>(value) != 0;
  return CUDA_SUCCESS;
}

// Managed memory is where the host can reach it anyway: hints change nothing but are checked.
static CUresult check_managed(CUdeviceptr pointer, size_t bytes) {
  const Allocation* allocation = allocation_holding(pointer);
  bool inside = allocation != nullptr && allocation->kind == MemoryKind::kManaged &&
                pointer + bytes <= allocation->address + allocation->bytes;
  return inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult prefetch(CUdeviceptr pointer, size_t bytes, CUstream handle) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  return check_managed(pointer, bytes);
}

SIMNODE_ENTRY(cuMemAdvise)(CUdeviceptr pointer, size_t bytes, CUmem_advise, CUdevice) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  return check_managed(pointer, bytes);
}

SIMNODE_ENTRY(cuMemAdvise_v2)(CUdeviceptr pointer, size_t bytes, CUmem_advise, CUmemLocation) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  return check_managed(pointer, bytes);
}

SIMNODE_ENTRY(cuMemPrefetchAsync)(CUdeviceptr pointer, size_t bytes, CUdevice, CUstream stream) {
  return prefetch(pointer, bytes, stream);
}

SIMNODE_ENTRY(cuMemPrefetchAsync_v2)(CUdeviceptr pointer, size_t bytes, CUmemLocation, unsigned int, CUstream stream) {
  return prefetch(pointer, bytes, stream);
}

}  // namespace simnode
