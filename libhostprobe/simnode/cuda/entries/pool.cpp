// Stream-ordered memory. An allocation is usable at once; a free takes effect when the stream's earlier effects have run.
#include "cuda/model/capture.h"
#include "cuda/model/context.h"
#include "cuda/model/device.h"
#include "cuda/model/memory.h"
#include "cuda/model/node.h"
#include "cuda/model/stream.h"
#include "entry.h"

#include <map>

namespace simnode {

namespace {

struct Pool {
  static constexpr Kind kKind = Kind::kPool;
  Device* device = nullptr;
  bool standard = false;
  std::map<CUmemPool_attribute, cuuint64_t> attributes;
  cuuint64_t used_bytes = 0;
  cuuint64_t highest_bytes = 0;
};

CUmemoryPool make_pool(Device& device, bool standard) {
  auto* pool = new Pool;
  pool->device = &device;
  pool->standard = standard;
  return static_cast<CUmemoryPool>(g_node->handles.add(Kind::kPool, pool));
}

CUmemoryPool current_pool(Device& device) {
  if (device.default_pool == nullptr) device.default_pool = device.current_pool = make_pool(device, true);
  return device.current_pool;
}

CUresult find_pool(CUmemoryPool handle, Pool** pool) {
  SIMNODE_TRY(ready());
  *pool = g_node->find<Pool>(handle);
  return *pool == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult allocate_from(CUdeviceptr* pointer, size_t bytes, CUmemoryPool handle, const Stream& stream) {
  Pool* pool;
  SIMNODE_TRY(find_pool(handle, &pool));
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream.capture != nullptr) return CUDA_ERROR_NOT_SUPPORTED;  // allocation nodes of graphs
  SIMNODE_TRY(allocate_on(*pool->device, nullptr, bytes, 512, MemoryKind::kDevice, pointer));
  allocation_at(*pointer)->pool = handle;
  pool->used_bytes += bytes;
  if (pool->used_bytes > pool->highest_bytes) pool->highest_bytes = pool->used_bytes;
  return CUDA_SUCCESS;
}

void free_now(CUdeviceptr pointer) {
  Allocation* allocation = allocation_at(pointer);
  if (allocation == nullptr) return;
  if (auto* pool = g_node->find<Pool>(allocation->pool)) pool->used_bytes -= allocation->bytes;
  free_allocation(*allocation);
}

}  // namespace

SIMNODE_ENTRY(cuMemAllocAsync)(CUdeviceptr* pointer, size_t bytes, CUstream handle) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  stall_allocation(*stream->context);
  return allocate_from(pointer, bytes, current_pool(*stream->context->device), *stream);
}

SIMNODE_ENTRY(cuMemAllocFromPoolAsync)(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool, CUstream handle) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  stall_allocation(*stream->context);
  return allocate_from(pointer, bytes, pool, *stream);
}

SIMNODE_ENTRY(cuMemFreeAsync)(CUdeviceptr pointer, CUstream handle) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  Allocation* allocation = allocation_at(pointer);
  if (allocation == nullptr || allocation->kind != MemoryKind::kDevice) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  stall_allocation(*stream->context);
  int64_t submit_ns = now_ns();
  order_with_legacy(*stream, submit_ns);
  if (stream->queue.empty()) {
    free_now(pointer);
    return CUDA_SUCCESS;
  }
  Op op;
  op.submit_ns = submit_ns;
  op.immediate = true;
  op.effect = [pointer] {
    MutexLock inner(g_mutex);
    free_now(pointer);
    return CUDA_SUCCESS;
  };
  submit(*stream, std::move(op));
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceGetDefaultMemPool)(CUmemoryPool* pool, CUdevice number) {
  MutexLock lock(g_mutex);
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  current_pool(*device);
  *pool = device->default_pool;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceGetMemPool)(CUmemoryPool* pool, CUdevice number) {
  MutexLock lock(g_mutex);
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pool = current_pool(*device);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceSetMemPool)(CUdevice number, CUmemoryPool handle) {
  MutexLock lock(g_mutex);
  Device* device;
  Pool* pool;
  SIMNODE_TRY(find_device(number, &device));
  SIMNODE_TRY(find_pool(handle, &pool));
  if (pool->device != device) return CUDA_ERROR_INVALID_VALUE;
  current_pool(*device);
  device->current_pool = handle;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemPoolCreate)(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  MutexLock lock(g_mutex);
  Device* device;
  if (pool == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  SIMNODE_TRY(find_device(properties->location.id, &device));
  *pool = make_pool(*device, false);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemPoolDestroy)(CUmemoryPool handle) {
  MutexLock lock(g_mutex);
  Pool* pool;
  SIMNODE_TRY(find_pool(handle, &pool));
  if (pool->standard) return CUDA_ERROR_INVALID_VALUE;
  if (pool->device->current_pool == handle) pool->device->current_pool = pool->device->default_pool;
  g_node->handles.remove(handle);
  delete pool;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemPoolTrimTo)(CUmemoryPool handle, size_t) {
  MutexLock lock(g_mutex);
  Pool* pool;
  return find_pool(handle, &pool);
}

SIMNODE_ENTRY(cuMemPoolSetAccess)(CUmemoryPool handle, const CUmemAccessDesc*, size_t) {
  MutexLock lock(g_mutex);
  Pool* pool;
  return find_pool(handle, &pool);
}

SIMNODE_ENTRY(cuMemPoolGetAccess)(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation*) {
  MutexLock lock(g_mutex);
  Pool* pool;
  SIMNODE_TRY(find_pool(handle, &pool));
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

// The first three attributes are ints, the others 64 bits wide.
static bool is_int(CUmemPool_attribute attribute) {
  return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

SIMNODE_ENTRY(cuMemPoolSetAttribute)(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  MutexLock lock(g_mutex);
  Pool* pool;
  SIMNODE_TRY(find_pool(handle, &pool));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  pool->attributes[attribute] =
      is_int(attribute) ? static_cast<cuuint64_t>(*static_cast<int*>(value)) : *static_cast<cuuint64_t*>(value);
  if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) pool->highest_bytes = pool->used_bytes;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemPoolGetAttribute)(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  MutexLock lock(g_mutex);
  Pool* pool;
  SIMNODE_TRY(find_pool(handle, &pool));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (is_int(attribute)) {
    auto set = pool->attributes.find(attribute);
    *static_cast<int*>(value) = set == pool->attributes.end() ? 1 : static_cast<int>(set->second);
    return CUDA_SUCCESS;
  }
  cuuint64_t answer = 0;
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) answer = pool->attributes[attribute];
  if (attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
    answer = pool->used_bytes;
  if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
    answer = pool->highest_bytes;
  *static_cast<cuuint64_t*>(value) = answer;
  return CUDA_SUCCESS;
}

}  // namespace simnode
