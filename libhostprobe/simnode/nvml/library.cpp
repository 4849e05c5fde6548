// Beginning and end, versions, errors: everything that is not about one device.
#include "library.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

namespace simnode::nvml {

namespace {

std::mutex g_mutex;
int g_users = 0;
const Settings* g_settings = nullptr;

char g_handles[kMaxDevices];  // a device's handle is the address of its byte

nvmlReturn_t init() {
  std::lock_guard lock(g_mutex);
  if (g_settings == nullptr) g_settings = new Settings;  // kept: another thread may still look at it after a shutdown
  ++g_users;
  return NVML_SUCCESS;
}

}  // namespace

const Settings* settings() {
  std::lock_guard lock(g_mutex);
  return g_users > 0 ? g_settings : nullptr;
}

nvmlReturn_t ready() { return settings() != nullptr ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED; }

nvmlReturn_t find(nvmlDevice_t handle, int* device) {
  const Settings* all = settings();
  if (all == nullptr) return NVML_ERROR_UNINITIALIZED;
  auto* byte = reinterpret_cast<const char*>(handle);
  if (byte < g_handles || byte >= g_handles + all->devices) return NVML_ERROR_INVALID_ARGUMENT;
  *device = static_cast<int>(byte - g_handles);
  return NVML_SUCCESS;
}

nvmlDevice_t handle_of(int device) { return reinterpret_cast<nvmlDevice_t>(&g_handles[device]); }

nvmlReturn_t give(const char* text, char* buffer, unsigned bytes) {
  if (buffer == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (strlen(text) >= bytes) return NVML_ERROR_INSUFFICIENT_SIZE;
  strcpy(buffer, text);
  return NVML_SUCCESS;
}

NVML_EXPORT nvmlReturn_t nvmlInit() { return init(); }
NVML_EXPORT nvmlReturn_t nvmlInit_v2() { return init(); }
NVML_EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned) { return init(); }

NVML_EXPORT nvmlReturn_t nvmlShutdown() {
  std::lock_guard lock(g_mutex);
  if (g_users == 0) return NVML_ERROR_UNINITIALIZED;
  --g_users;
  return NVML_SUCCESS;
}

NVML_EXPORT const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
      return "Insufficient Permissions";
    case NVML_ERROR_ALREADY_INITIALIZED:
      return "Already Initialized";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_INSUFFICIENT_POWER:
      return "Insufficient External Power";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT:
      return "Timeout";
    case NVML_ERROR_LIBRARY_NOT_FOUND:
      return "NVML Shared Library Not Found";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return "Function Not Found";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
      return "Argument version mismatch";
    case NVML_ERROR_UNKNOWN:
      return "Unknown Error";
  }
  return "Unknown Error";
}

// "580.00.13000": no driver of this name exists, and the number of the simulated CUDA version stands at its end.
NVML_EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned bytes) {
  NVML_TRY(ready());
  return give(("580.00." + std::to_string(settings()->driver_version)).c_str(), version, bytes);
}

NVML_EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned bytes) {
  NVML_TRY(ready());
  int cuda = settings()->driver_version;
  return give((std::to_string(cuda / 1000) + ".580.00").c_str(), version, bytes);
}

NVML_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  NVML_TRY(ready());
  if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *version = settings()->driver_version;
  return NVML_SUCCESS;
}

NVML_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

NVML_EXPORT nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* name, unsigned bytes) {
  NVML_TRY(ready());
  if (name == nullptr || bytes == 0) return NVML_ERROR_INVALID_ARGUMENT;
  FILE* file = fopen(("/proc/" + std::to_string(pid) + "/cmdline").c_str(), "re");
  if (file == nullptr) return NVML_ERROR_NOT_FOUND;
  size_t read = fread(name, 1, bytes - 1, file);
  fclose(file);
  name[read] = '\0';
  return NVML_SUCCESS;
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  NVML_TRY(ready());
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = static_cast<unsigned>(settings()->devices);
  return NVML_SUCCESS;
}

NVML_EXPORT nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

}  // namespace simnode::nvml
