// What a program can ask about the devices. The numbers are those of an 80 GiB data-centre device; the compute
// capability is a setting, and what depends on it follows.
#include "device.h"

#include "context.h"
#include "cuda/entries/entry.h"
#include "node.h"
#include "node/identity.h"
#include "stream.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace simnode {

namespace {

constexpr int kLastAttribute = CU_DEVICE_ATTRIBUTE_MAX;  // those of the header that have no value here answer 0

struct AttributeValue {
  CUdevice_attribute attribute;
  int value;
};

constexpr AttributeValue kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 65536},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 16384},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 52428800},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 32768000},
    {CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 134213632},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    {CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 4},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 1},
};

}  // namespace

int attribute_of(const Device& device, CUdevice_attribute attribute) {
  int capability = g_node->settings.compute_capability;
  switch (static_cast<int>(attribute)) {
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return static_cast<int>(pci_place(device.ordinal).bus);
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
      return static_cast<int>(pci_place(device.ordinal).domain);
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return capability % 10;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
      return capability >= 90;
    case CU_DEVICE_ATTRIBUTE_NUMA_ID:
      return device.numa_node;
    case 134 /* HOST_NUMA_ID, absent from older headers */:
      return device.numa_node;
    default:
      break;
  }
  for (const AttributeValue& known : kAttributes)
    if (known.attribute == attribute) return known.value;
  return attribute > 0 && attribute < kLastAttribute ? 0 : -1;
}

CUresult find_device(CUdevice number, Device** device) {
  SIMNODE_TRY(ready());
  if (number < 0 || static_cast<size_t>(number) >= g_node->devices.size()) return CUDA_ERROR_INVALID_DEVICE;
  *device = g_node->devices[static_cast<size_t>(number)];
  return CUDA_SUCCESS;
}

CUuuid uuid_of(const Device& device) {
  CUuuid uuid;
  device_uuid(device.ordinal, reinterpret_cast<unsigned char*>(uuid.bytes));
  return uuid;
}

SIMNODE_ENTRY(cuDeviceGet)(CUdevice* device, int ordinal) {
  Device* found;
  SIMNODE_TRY(ready());
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIMNODE_TRY(find_device(ordinal, &found));
  *device = ordinal;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceGetCount)(int* count) {
  SIMNODE_TRY(ready());
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(g_node->devices.size());
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuGLGetDevices_v2)(unsigned int* count, CUdevice*, unsigned int, int) {
  SIMNODE_TRY(ready());
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = 0;  // no device drives a display
  return CUDA_ERROR_NO_DEVICE;
}

SIMNODE_ENTRY(cuDeviceGetName)(char* name, int length, CUdevice number) {
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(name, static_cast<size_t>(length), "%s", device_name(g_node->settings.compute_capability).c_str());
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceGetUuid)(CUuuid* uuid, CUdevice number) {
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *uuid = uuid_of(*device);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceGetUuid_v2)(CUuuid* uuid, CUdevice number) { return entry_cuDeviceGetUuid(uuid, number); }

SIMNODE_ENTRY(cuDeviceTotalMem_v2)(size_t* bytes, CUdevice number) {
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = static_cast<size_t>(g_node->settings.memory_bytes);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceGetAttribute)(int* value, CUdevice_attribute attribute, CUdevice number) {
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int found = attribute_of(*device, attribute);
  if (found < 0) return CUDA_ERROR_INVALID_VALUE;
  *value = found;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceComputeCapability)(int* major, int* minor, CUdevice number) {
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *major = g_node->settings.compute_capability / 10;
  *minor = g_node->settings.compute_capability % 10;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceGetProperties)(CUdevprop* properties, CUdevice number) {
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *properties =
      CUdevprop{1024, {1024, 1024, 64}, {2147483647, 65535, 65535}, 49152, 65536, 32, 2147483647, 65536, 1980000, 512};
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceGetPCIBusId)(char* id, int length, CUdevice number) {
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (id == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(id, static_cast<size_t>(length), "%s", pci_text(device->ordinal, 4).c_str());
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceGetByPCIBusId)(CUdevice* number, const char* id) {
  SIMNODE_TRY(ready());
  if (number == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned first, second, third, fourth, function;
  int read = sscanf(id, "%x:%x:%x.%x", &first, &second, &third, &function);
  if (read != 4) {
    if (sscanf(id, "%x:%x.%x", &second, &fourth, &function) < 2) return CUDA_ERROR_INVALID_VALUE;
    first = 0;
  }
  for (const Device* device : g_node->devices)
    if (PciPlace place = pci_place(device->ordinal); place.domain == first && place.bus == second) {
      *number = device->ordinal;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_DEVICE;
}

SIMNODE_ENTRY(cuDeviceCanAccessPeer)(int* can, CUdevice number, CUdevice peer) {
  Device *device, *other;
  SIMNODE_TRY(find_device(number, &device));
  SIMNODE_TRY(find_device(peer, &other));
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *can = device != other;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDeviceGetP2PAttribute)(int* value, CUdevice_P2PAttribute attribute, CUdevice number, CUdevice peer) {
  Device *device, *other;
  SIMNODE_TRY(find_device(number, &device));
  SIMNODE_TRY(find_device(peer, &other));
  if (value == nullptr || device == other)
    return device == other ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
  *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ? 0 : 1;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDevicePrimaryCtxRetain)(CUcontext* context, CUdevice number) {
  MutexLock lock(g_mutex);
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device->primary == nullptr) device->primary = make_context(*device, device->primary_flags, true);
  if (device->primary == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  ++device->primary_references;
  *context = device->primary->handle;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDevicePrimaryCtxRelease_v2)(CUdevice number) {
  MutexLock lock(g_mutex);
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (device->primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primary_references > 0) return CUDA_SUCCESS;
  Context* context = device->primary;
  device->primary = nullptr;
  destroy_context(*context);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDevicePrimaryCtxRelease)(CUdevice number) { return entry_cuDevicePrimaryCtxRelease_v2(number); }

SIMNODE_ENTRY(cuDevicePrimaryCtxReset_v2)(CUdevice number) {
  MutexLock lock(g_mutex);
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  device->primary_references = 0;
  Context* context = device->primary;
  device->primary = nullptr;
  if (context != nullptr) destroy_context(*context);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDevicePrimaryCtxReset)(CUdevice number) { return entry_cuDevicePrimaryCtxReset_v2(number); }

SIMNODE_ENTRY(cuDevicePrimaryCtxSetFlags_v2)(CUdevice number, unsigned int flags) {
  MutexLock lock(g_mutex);
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0 || (flags & CU_CTX_SCHED_MASK) == 3)
    return CUDA_ERROR_INVALID_VALUE;
  device->primary_flags = flags;
  if (device->primary != nullptr) device->primary->flags = flags;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuDevicePrimaryCtxSetFlags)(CUdevice number, unsigned int flags) {
  return entry_cuDevicePrimaryCtxSetFlags_v2(number, flags);
}

SIMNODE_ENTRY(cuDevicePrimaryCtxGetState)(CUdevice number, unsigned int* flags, int* active) {
  MutexLock lock(g_mutex);
  Device* device;
  SIMNODE_TRY(find_device(number, &device));
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = device->primary_flags;
  *active = device->primary != nullptr;
  return CUDA_SUCCESS;
}

}  // namespace simnode
