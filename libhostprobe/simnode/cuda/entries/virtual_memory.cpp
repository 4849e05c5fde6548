// Reserved addresses, physical memory, and mappings of one onto the other (what allocators with expandable segments use).
// Physical memory is a piece of the device's memfd, so mapping it is mmap at the reserved address.
#include "cuda/model/context.h"
#include "cuda/model/device.h"
#include "cuda/model/memory.h"
#include "cuda/model/node.h"
#include "entry.h"

#include <sys/mman.h>

namespace simnode {

namespace {

constexpr size_t kGranularity = size_t{2} << 20;

struct Physical {
  static constexpr Kind kKind = Kind::kPhysical;
  Device* device = nullptr;
  int64_t offset = 0;
  size_t bytes = 0;
  CUmemAllocationProp properties{};
  int references = 1;  // the handle, and each mapping
};

struct Reserved {
  size_t bytes;
};

std::map<uintptr_t, Reserved>& reservations() {
  static auto* const all = new std::map<uintptr_t, Reserved>;
  return *all;
}

std::map<uintptr_t, void*>& mappings() {  // address: handle of the physical memory
  static auto* const all = new std::map<uintptr_t, void*>;
  return *all;
}

bool reserved(uintptr_t address, size_t bytes) {
  auto found = reservations().upper_bound(address);
  if (found == reservations().begin()) return false;
  --found;
  return address - found->first + bytes <= found->second.bytes;
}

Physical* find_physical(CUmemGenericAllocationHandle handle) {
  return g_node->find<Physical>(reinterpret_cast<void*>(handle));
}

void drop(Physical& physical, void* handle) {
  if (--physical.references > 0) return;
  physical.device->arena.give_back(physical.offset, physical.bytes);
  g_node->handles.remove(handle);
  delete &physical;
}

void* reserve_aligned(size_t bytes) {
  char* wide = static_cast<char*>(
      mmap(nullptr, bytes + kGranularity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (wide == MAP_FAILED) return nullptr;
  size_t lead = (kGranularity - reinterpret_cast<uintptr_t>(wide) % kGranularity) % kGranularity;
  if (lead != 0) munmap(wide, lead);
  munmap(wide + lead + bytes, kGranularity - lead);
  return wide + lead;
}

}  // namespace

SIMNODE_ENTRY(cuMemGetAllocationGranularity)
(size_t* granularity, const CUmemAllocationProp* properties, CUmemAllocationGranularity_flags) {
  SIMNODE_TRY(ready());
  if (granularity == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemAddressReserve)(CUdeviceptr* pointer, size_t bytes, size_t, CUdeviceptr, unsigned long long flags) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  if (pointer == nullptr || bytes == 0 || bytes % kGranularity != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  void* reserved_at = reserve_aligned(bytes);
  if (reserved_at == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = reinterpret_cast<CUdeviceptr>(reserved_at);
  reservations()[*pointer] = {bytes};
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemAddressFree)(CUdeviceptr pointer, size_t bytes) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  auto found = reservations().find(pointer);
  if (found == reservations().end() || found->second.bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
  munmap(reinterpret_cast<void*>(pointer), bytes);
  reservations().erase(found);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemCreate)
(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties, unsigned long long flags) {
  MutexLock lock(g_mutex);
  Device* device;
  if (handle == nullptr || properties == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0 || bytes % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  SIMNODE_TRY(find_device(properties->location.id, &device));
  if (!device->arena.open(static_cast<size_t>(g_node->settings.memory_bytes))) return CUDA_ERROR_OUT_OF_MEMORY;
  int64_t offset = device->arena.take(bytes, 4096);
  if (offset < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  auto* physical = new Physical;
  physical->device = device;
  physical->offset = offset;
  physical->bytes = bytes;
  physical->properties = *properties;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(g_node->handles.add(Kind::kPhysical, physical));
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemRelease)(CUmemGenericAllocationHandle handle) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  Physical* physical = find_physical(handle);
  if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  drop(*physical, reinterpret_cast<void*>(handle));
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemMap)
(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  Physical* physical = find_physical(handle);
  if (physical == nullptr || flags != 0 || offset + bytes > physical->bytes) return CUDA_ERROR_INVALID_VALUE;
  if (!reserved(pointer, bytes) || allocation_holding(pointer) != nullptr) return CUDA_ERROR_INVALID_VALUE;
  // No access until cuMemSetAccess grants it.
  void* mapped = mmap(reinterpret_cast<void*>(pointer), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                      physical->device->arena.fd(), physical->offset + static_cast<int64_t>(offset));
  if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  ++physical->references;
  mappings()[pointer] = reinterpret_cast<void*>(handle);
  Allocation allocation;
  allocation.address = pointer;
  allocation.bytes = bytes;
  allocation.kind = MemoryKind::kMapped;
  allocation.device = physical->device;
  note_allocation(allocation);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemUnmap)(CUdeviceptr pointer, size_t bytes) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  uintptr_t end = pointer + bytes;
  auto first = mappings().find(pointer);
  if (first == mappings().end()) return CUDA_ERROR_INVALID_VALUE;
  while (first != mappings().end() && first->first < end) {
    Allocation* allocation = allocation_at(first->first);
    if (allocation == nullptr || allocation->address + allocation->bytes > end) return CUDA_ERROR_INVALID_VALUE;
    // The addresses stay reserved.
    mmap(reinterpret_cast<void*>(first->first), allocation->bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    forget_allocation(first->first);
    if (auto* physical = g_node->find<Physical>(first->second)) drop(*physical, first->second);
    first = mappings().erase(first);
  }
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemSetAccess)(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  const Allocation* first = allocation_holding(pointer);
  const Allocation* last = bytes == 0 ? nullptr : allocation_holding(pointer + bytes - 1);
  if (access == nullptr || count == 0 || first == nullptr || last == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (first->kind != MemoryKind::kMapped || last->kind != MemoryKind::kMapped) return CUDA_ERROR_INVALID_VALUE;
  int protection = PROT_NONE;
  for (size_t i = 0; i < count; ++i) {
    if ((access[i].flags & CU_MEM_ACCESS_FLAGS_PROT_READ) != 0) protection |= PROT_READ;
    if ((access[i].flags & CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      protection |= PROT_READ | PROT_WRITE;
  }
  return mprotect(reinterpret_cast<void*>(pointer), bytes, protection) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIMNODE_ENTRY(cuMemGetAllocationPropertiesFromHandle)
(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  Physical* physical = find_physical(handle);
  if (physical == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *properties = physical->properties;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle* handle, void* address) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  const Allocation* allocation = allocation_holding(reinterpret_cast<uintptr_t>(address));
  auto found = allocation == nullptr ? mappings().end() : mappings().find(allocation->address);
  if (handle == nullptr || found == mappings().end()) return CUDA_ERROR_INVALID_VALUE;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(found->second);
  ++find_physical(*handle)->references;
  return CUDA_SUCCESS;
}

}  // namespace simnode
