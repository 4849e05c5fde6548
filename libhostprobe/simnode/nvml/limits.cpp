// What a device is allowed and built for: temperatures, power, links, and why its clocks are as they are.
#include "library.h"

#include <iterator>

namespace simnode::nvml {

namespace {

// By nvmlTemperatureThresholds_t: shutdown, slowdown, memory's and the device's own limit. It has no acoustic ones.
constexpr unsigned kThresholdsCelsius[] = {92, 90, 95, 87};
constexpr int kThresholds = 8;
constexpr unsigned kPcieGeneration = 5, kPcieLanes = 16;
constexpr unsigned kLeastPowerMw = 200000;
constexpr unsigned long long kReasonIdle = 1, kKnownReasons = 0x1ff;

nvmlReturn_t give_reasons(nvmlDevice_t handle, unsigned long long* out, bool now) {
  int device;
  NVML_TRY(find(handle, &device));
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *out = !now ? kKnownReasons : busy_now(device) > 0 ? 0 : kReasonIdle;
  return NVML_SUCCESS;
}

}  // namespace

NVML_EXPORT nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t handle, int which, unsigned* celsius) {
  int device;
  NVML_TRY(find(handle, &device));
  if (which < 0 || which >= kThresholds || celsius == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (which >= static_cast<int>(std::size(kThresholdsCelsius))) return NVML_ERROR_NOT_SUPPORTED;
  return give_number(handle, celsius, kThresholdsCelsius[which]);
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t handle, unsigned* mode) {
  return give_number(handle, mode, 1);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t handle, unsigned* least,
                                                                      unsigned* most) {
  NVML_TRY(give_number(handle, least, kLeastPowerMw));
  return give_number(handle, most, kPowerLimitMw);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetPowerState(nvmlDevice_t handle, unsigned* state) {
  return give_number(handle, state, 0);
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t handle, unsigned* generation) {
  return give_number(handle, generation, kPcieGeneration);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t handle, unsigned* generation) {
  return give_number(handle, generation, kPcieGeneration);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t handle, unsigned* lanes) {
  return give_number(handle, lanes, kPcieLanes);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t handle, unsigned* lanes) {
  return give_number(handle, lanes, kPcieLanes);
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t handle, unsigned long long* reasons) {
  return give_reasons(handle, reasons, true);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t handle, unsigned long long* reasons) {
  return give_reasons(handle, reasons, true);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t handle, unsigned long long* reasons) {
  return give_reasons(handle, reasons, false);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t handle, unsigned long long* reasons) {
  return give_reasons(handle, reasons, false);
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t handle, unsigned* fans) {
  return give_number(handle, fans, 0);
}
NVML_EXPORT nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t handle, unsigned* several) {
  return give_number(handle, several, 0);
}
// Units are S-class systems, which hold several devices in a box of their own.
NVML_EXPORT nvmlReturn_t nvmlUnitGetCount(unsigned* count) {
  NVML_TRY(ready());
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = 0;
  return NVML_SUCCESS;
}

}  // namespace simnode::nvml
