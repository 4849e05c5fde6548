// Which processes use a device: those of this user that have made a context on it or hold memory of it.
#include "library.h"
#include "node/usage.h"

#include <vector>

namespace simnode::nvml {

namespace {

std::vector<nvmlProcessInfo_t> users_of(int device) {
  constexpr unsigned kNoInstance = 0xffffffff;
  std::vector<nvmlProcessInfo_t> users;
  UsageScan scan;
  for (const ProcessUsage& process : scan.processes()) {
    const DeviceUsage& usage = process.usage->devices[device];
    unsigned long long bytes = usage.memory_bytes.load(std::memory_order_relaxed);
    if (bytes == 0 && usage.contexts.load(std::memory_order_relaxed) == 0) continue;
    users.push_back({static_cast<unsigned>(process.pid), bytes, kNoInstance, kNoInstance});
  }
  return users;
}

// `count` is the room on the way in and the number on the way out; without enough room nothing is copied.
template <class Info>
nvmlReturn_t give_users(nvmlDevice_t handle, unsigned* count, Info* infos) {
  int device;
  NVML_TRY(find(handle, &device));
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  std::vector<nvmlProcessInfo_t> users = users_of(device);
  unsigned room = *count;
  *count = static_cast<unsigned>(users.size());
  if (users.size() > room) return NVML_ERROR_INSUFFICIENT_SIZE;
  if (infos == nullptr && !users.empty()) return NVML_ERROR_INVALID_ARGUMENT;
  for (size_t i = 0; i < users.size(); ++i) {
    infos[i].pid = users[i].pid;
    infos[i].usedGpuMemory = users[i].usedGpuMemory;
    if constexpr (requires { infos[i].gpuInstanceId; }) infos[i] = users[i];
  }
  return NVML_SUCCESS;
}

// Nothing is drawn on a simulated device.
nvmlReturn_t give_nobody(nvmlDevice_t handle, unsigned* count) {
  int device;
  NVML_TRY(find(handle, &device));
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = 0;
  return NVML_SUCCESS;
}

}  // namespace

NVML_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t handle, unsigned* count,
                                                              nvmlProcessInfo_v1_t* infos) {
  return give_users(handle, count, infos);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t handle, unsigned* count,
                                                                 nvmlProcessInfo_t* infos) {
  return give_users(handle, count, infos);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t handle, unsigned* count,
                                                                 nvmlProcessInfo_t* infos) {
  return give_users(handle, count, infos);
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t handle, unsigned* count,
                                                               nvmlProcessInfo_v1_t*) {
  return give_nobody(handle, count);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t handle, unsigned* count,
                                                                  nvmlProcessInfo_t*) {
  return give_nobody(handle, count);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t handle, unsigned* count,
                                                                  nvmlProcessInfo_t*) {
  return give_nobody(handle, count);
}

}  // namespace simnode::nvml
