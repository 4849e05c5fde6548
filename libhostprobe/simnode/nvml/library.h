// The state between nvmlInit and nvmlShutdown, and what every entry point begins with.
#pragma once
#include "node/settings.h"
#include "nvml_types.h"

#include <cstddef>

#define NVML_EXPORT extern "C" __attribute__((visibility("default")))
#define NVML_TRY(call) \
  if (nvmlReturn_t tried = (call); tried != NVML_SUCCESS) return tried

namespace simnode::nvml {

// Null until nvmlInit, and again after as many nvmlShutdown.
const Settings* settings();
nvmlReturn_t ready();
// The number of a device by its handle, which is any of ours that is not null.
nvmlReturn_t find(nvmlDevice_t handle, int* device);
nvmlDevice_t handle_of(int device);
// Copies a text into the caller's buffer, or says that it is too small.
nvmlReturn_t give(const char* text, char* buffer, unsigned bytes);
nvmlReturn_t give_number(nvmlDevice_t handle, unsigned* out, unsigned value);

constexpr unsigned kPowerLimitMw = 700000;
// The share of the last second in which the device was busy, 0 to 1.
double busy_now(int device);

}  // namespace simnode::nvml
