// What a program can ask about the devices, and their primary contexts.
#include "cuda/model/device.h"
#include "cuda/model/context.h"
#include "cuda/model/node.h"
#include "entry.h"
#include "node/identity.h"

#include <cstdio>

namespace simnode {

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
