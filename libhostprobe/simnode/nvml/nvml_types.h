// The types of NVML's interface as programs compiled against any nvml.h pass them, as far as they are needed here.
// Written down because the CUDA headers come without nvml.h; tests/simnode compares them with a real header where one is
// present.
#pragma once

struct nvmlDevice_st;
typedef struct nvmlDevice_st* nvmlDevice_t;

enum nvmlReturn_t {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_ALREADY_INITIALIZED = 5,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_INSUFFICIENT_POWER = 8,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_TIMEOUT = 10,
  NVML_ERROR_LIBRARY_NOT_FOUND = 12,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_ERROR_UNKNOWN = 999
};

constexpr unsigned kBusIdBytes = 32, kLegacyBusIdBytes = 16;

// The oldest form, which nvmlDeviceGetPciInfo without a version fills: later fields would be written past its end.
struct PciInfo1 {
  char busId[kLegacyBusIdBytes];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
};
struct PciInfo2 {
  char busId[kLegacyBusIdBytes];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  unsigned reserved[4];
};
struct nvmlPciInfo_t {
  char busIdLegacy[kLegacyBusIdBytes];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[kBusIdBytes];
};

struct nvmlUtilization_t {
  unsigned gpu, memory;
};
struct nvmlMemory_t {
  unsigned long long total, free, used;
};
struct nvmlMemory_v2_t {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned kMemory2 = sizeof(nvmlMemory_v2_t) | 2u << 24;

struct nvmlProcessInfo_v1_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
};
struct nvmlProcessInfo_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
};

constexpr int kClockTypes = 4;  // graphics, SM, memory, video
enum nvmlGpuTopologyLevel_t { kTopologyHostBridge = 30, kTopologyNode = 40, kTopologySystem = 50 };
