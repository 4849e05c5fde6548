// What can be asked about one device. Clocks, power and temperature follow from how busy the model says it was; what a
// simulated device does not have (fans, encoders' sessions, NVLink) is "not supported", as on devices without them.
#include "library.h"
#include "node/clock.h"
#include "node/identity.h"
#include "node/topology.h"
#include "node/usage.h"

#include <strings.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

namespace simnode::nvml {

namespace {

constexpr unsigned kIdlePowerMw = 70000;
constexpr unsigned kClocksMhz[kClockTypes] = {1980, 1980, 2619, 1545};
constexpr unsigned kIdleClocksMhz[kClockTypes] = {345, 345, 2619, 765};
constexpr unsigned kIdleCelsius = 32, kBusyCelsius = 65;

struct State {
  double busy = 0;  // of the last second, 0 to 1
  unsigned long long memory_bytes = 0;
};

State state_of(int device) {
  State state;
  UsageScan scan;
  int64_t now = now_ns();
  for (const ProcessUsage& process : scan.processes()) {
    const DeviceUsage& usage = process.usage->devices[device];
    state.busy += busy_share(usage, now);
    state.memory_bytes += usage.memory_bytes.load(std::memory_order_relaxed);
  }
  state.busy = std::min(state.busy, 1.0);
  return state;
}

unsigned between(unsigned idle, unsigned busy, double share) {
  return idle + static_cast<unsigned>(std::lround((static_cast<double>(busy) - idle) * share));
}

template <class Info>
nvmlReturn_t give_pci(nvmlDevice_t handle, Info* info) {
  int device;
  NVML_TRY(find(handle, &device));
  if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  memset(static_cast<void*>(info), 0, sizeof *info);
  PciPlace place = pci_place(device);
  info->domain = place.domain;
  info->bus = place.bus;
  info->pciDeviceId = kPciDeviceId;
  info->pciSubSystemId = kPciSubsystemId;
  std::string legacy = pci_text(device, 4), text = pci_text(device, 8);
  memcpy(info, legacy.c_str(), std::min<size_t>(legacy.size(), kLegacyBusIdBytes - 1));
  if constexpr (requires { info->busIdLegacy; }) memcpy(info->busId, text.c_str(), text.size());
  return NVML_SUCCESS;
}

nvmlReturn_t give_clock(nvmlDevice_t handle, int type, unsigned* mhz, bool most) {
  int device;
  NVML_TRY(find(handle, &device));
  if (mhz == nullptr || type < 0 || type >= kClockTypes) return NVML_ERROR_INVALID_ARGUMENT;
  *mhz = most || state_of(device).busy > 0 ? kClocksMhz[type] : kIdleClocksMhz[type];
  return NVML_SUCCESS;
}

}  // namespace

double busy_now(int device) { return state_of(device).busy; }

nvmlReturn_t give_number(nvmlDevice_t handle, unsigned* out, unsigned value) {
  int device;
  NVML_TRY(find(handle, &device));
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *out = value;
  return NVML_SUCCESS;
}

// ---- which device ---------------------------------------------------------------------------------------------------

NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* handle) {
  NVML_TRY(ready());
  if (handle == nullptr || index >= static_cast<unsigned>(settings()->devices)) return NVML_ERROR_INVALID_ARGUMENT;
  *handle = handle_of(static_cast<int>(index));
  return NVML_SUCCESS;
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* handle) {
  NVML_TRY(ready());
  if (uuid == nullptr || handle == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (int i = 0; i < settings()->devices; ++i)
    if (uuid_text(i) == uuid) return nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(i), handle);
  return NVML_ERROR_NOT_FOUND;
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_t* handle) {
  NVML_TRY(ready());
  unsigned domain, bus, device, function;
  if (id == nullptr || handle == nullptr || sscanf(id, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
    return NVML_ERROR_INVALID_ARGUMENT;
  for (int i = 0; i < settings()->devices; ++i)
    if (PciPlace place = pci_place(i); place.domain == domain && place.bus == bus && device == 0 && function == 0)
      return nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(i), handle);
  return NVML_ERROR_NOT_FOUND;
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* id, nvmlDevice_t* handle) {
  return nvmlDeviceGetHandleByPciBusId_v2(id, handle);
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned* index) {
  int device = 0;
  NVML_TRY(find(handle, &device));
  return give_number(handle, index, static_cast<unsigned>(device));
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned* number) {
  return nvmlDeviceGetIndex(handle, number);
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned bytes) {
  int device;
  NVML_TRY(find(handle, &device));
  return give(device_name(settings()->compute_capability).c_str(), name, bytes);
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned bytes) {
  int device;
  NVML_TRY(find(handle, &device));
  return give(uuid_text(device).c_str(), uuid, bytes);
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t handle, PciInfo1* info) { return give_pci(handle, info); }
NVML_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t handle, PciInfo2* info) { return give_pci(handle, info); }
NVML_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t* info) {
  return give_pci(handle, info);
}

// ---- place ----------------------------------------------------------------------------------------------------------

static nvmlReturn_t numa_node(nvmlDevice_t handle, int* node) {
  int device;
  NVML_TRY(find(handle, &device));
  *node = numa_node_of(device, settings()->devices);
  return NVML_SUCCESS;
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t handle, unsigned* node) {
  int found = 0;
  NVML_TRY(numa_node(handle, &found));
  return give_number(handle, node, static_cast<unsigned>(found));
}

// Bit n stands for CPU n.
NVML_EXPORT nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t handle, unsigned words, unsigned long* set) {
  int node = 0;
  NVML_TRY(numa_node(handle, &node));
  if (set == nullptr || words == 0) return NVML_ERROR_INVALID_ARGUMENT;
  std::fill_n(set, words, 0ul);
  for (int cpu : cpus_of_node(node)) {
    auto word = static_cast<unsigned>(cpu) / 64;
    if (word >= words) return NVML_ERROR_INSUFFICIENT_SIZE;
    set[word] |= 1ul << (cpu % 64);
  }
  return NVML_SUCCESS;
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t handle, unsigned words, unsigned long* set,
                                                             unsigned scope) {
  if (scope > 1) return NVML_ERROR_INVALID_ARGUMENT;
  return nvmlDeviceGetCpuAffinity(handle, words, set);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t handle, unsigned words, unsigned long* set,
                                                     unsigned scope) {
  int node = 0;
  NVML_TRY(numa_node(handle, &node));
  if (set == nullptr || words == 0 || scope > 1) return NVML_ERROR_INVALID_ARGUMENT;
  std::fill_n(set, words, 0ul);
  if (static_cast<unsigned>(node) / 64 >= words) return NVML_ERROR_INSUFFICIENT_SIZE;
  set[node / 64] |= 1ul << (node % 64);
  return NVML_SUCCESS;
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                                                             nvmlGpuTopologyLevel_t* level) {
  int one = 0, other = 0;
  NVML_TRY(numa_node(first, &one));
  NVML_TRY(numa_node(second, &other));
  if (level == nullptr || first == second) return NVML_ERROR_INVALID_ARGUMENT;
  *level = one == other ? kTopologyNode : kTopologySystem;
  return NVML_SUCCESS;
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t handle, nvmlGpuTopologyLevel_t level,
                                                          unsigned* count, nvmlDevice_t* found) {
  int device = 0;
  NVML_TRY(find(handle, &device));
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  unsigned room = *count;
  *count = 0;
  for (int i = 0; i < settings()->devices; ++i) {
    nvmlGpuTopologyLevel_t here;
    if (i == device || nvmlDeviceGetTopologyCommonAncestor(handle, handle_of(i), &here) != NVML_SUCCESS) continue;
    if (here > level) continue;
    if (found != nullptr && *count < room) found[*count] = handle_of(i);
    ++*count;
  }
  return found != nullptr && *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

// ---- use ------------------------------------------------------------------------------------------------------------

NVML_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory) {
  int device;
  NVML_TRY(find(handle, &device));
  if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  auto total = static_cast<unsigned long long>(settings()->memory_bytes);
  unsigned long long used = std::min(state_of(device).memory_bytes, total);
  *memory = {total, total - used, used};
  return NVML_SUCCESS;
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t* memory) {
  int device;
  NVML_TRY(find(handle, &device));
  if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (memory->version != kMemory2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  nvmlMemory_t plain;
  NVML_TRY(nvmlDeviceGetMemoryInfo(handle, &plain));
  *memory = {kMemory2, plain.total, 0, plain.free, plain.used};
  return NVML_SUCCESS;
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t handle, nvmlUtilization_t* rates) {
  int device;
  NVML_TRY(find(handle, &device));
  if (rates == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  auto percent = static_cast<unsigned>(std::lround(state_of(device).busy * 100));
  *rates = {percent, percent / 2};
  return NVML_SUCCESS;
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t handle, unsigned* milliwatts) {
  int device;
  NVML_TRY(find(handle, &device));
  return give_number(handle, milliwatts, between(kIdlePowerMw, kPowerLimitMw, state_of(device).busy));
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t handle, unsigned* milliwatts) {
  return give_number(handle, milliwatts, kPowerLimitMw);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t handle, unsigned* milliwatts) {
  return give_number(handle, milliwatts, kPowerLimitMw);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t handle, unsigned* milliwatts) {
  return give_number(handle, milliwatts, kPowerLimitMw);
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t handle, int sensor, unsigned* celsius) {
  int device;
  NVML_TRY(find(handle, &device));
  if (sensor != 0) return NVML_ERROR_INVALID_ARGUMENT;
  return give_number(handle, celsius, between(kIdleCelsius, kBusyCelsius, state_of(device).busy));
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t handle, unsigned*) {
  int device;
  NVML_TRY(find(handle, &device));
  return NVML_ERROR_NOT_SUPPORTED;
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t handle, int type, unsigned* mhz) {
  return give_clock(handle, type, mhz, false);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t handle, int type, unsigned* mhz) {
  return give_clock(handle, type, mhz, true);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t handle, unsigned* state) {
  return give_number(handle, state, 0);
}

// ---- kind -----------------------------------------------------------------------------------------------------------

NVML_EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int* major, int* minor) {
  int device;
  NVML_TRY(find(handle, &device));
  if (major == nullptr || minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *major = settings()->compute_capability / 10;
  *minor = settings()->compute_capability % 10;
  return NVML_SUCCESS;
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t handle, unsigned* mode) {
  return give_number(handle, mode, 1);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t handle, unsigned* mode) {
  return give_number(handle, mode, 0);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t handle, unsigned* active) {
  return give_number(handle, active, 0);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t handle, unsigned* mode) {
  return give_number(handle, mode, 0);
}

static nvmlReturn_t give_codec_use(nvmlDevice_t handle, unsigned* percent, unsigned* period_us) {
  NVML_TRY(give_number(handle, percent, 0));
  return give_number(handle, period_us, 167000);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t handle, unsigned* percent, unsigned* period_us) {
  return give_codec_use(handle, percent, period_us);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t handle, unsigned* percent, unsigned* period_us) {
  return give_codec_use(handle, percent, period_us);
}

}  // namespace simnode::nvml
