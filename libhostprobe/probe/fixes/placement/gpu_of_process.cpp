// gpu_of_process.cpp: see gpu_of_process.h. Asked once, when a fix begins: none of the questions needs a context.
#include "probe/fixes/placement/gpu_of_process.h"

#include <cuda.h>

#include "probe/hooks/queue_samples.h"
#include "probe/intercept/routes.h"
#include "probe/runtime/rank.h"

namespace hostprobe::probe {
namespace {

struct Driver {
  CUresult (*count)(int*);
  CUresult (*primary_state)(CUdevice, unsigned*, int*);
  CUresult (*bus_id)(char*, int, CUdevice);
};

bool find(Driver& driver) {
  return find_routed(driver.count, "cuDeviceGetCount") && find_routed(driver.bus_id, "cuDeviceGetPCIBusId") &&
         find_routed(driver.primary_state, "cuDevicePrimaryCtxGetState");
}

bool is_active(const Driver& driver, int device) {
  unsigned flags = 0;
  int active = 0;
  return driver.primary_state(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

// -1: not known.
int device_of_process(const Driver& driver, int devices, int local_rank) {
  int active = -1, count = 0;
  for (int device = 0; device < devices; ++device) {
    if (!is_active(driver, device)) continue;
    active = count++ == 0 || device == local_rank ? device : active;
  }
  if (count == 1 || (count > 1 && active == local_rank)) return active;
  if (devices == 1) return 0;
  return count == 0 && local_rank >= 0 && local_rank < devices ? local_rank : -1;
}

}  // namespace

bool process_uses_gpu() {
  if (last_sample_ticks() != 0) return true;  // a launch was looked at
  Driver driver{};
  int devices = 0;
  if (!find(driver) || driver.count(&devices) != CUDA_SUCCESS) return false;
  for (int device = 0; device < devices; ++device)
    if (is_active(driver, device)) return true;
  return false;
}

void find_bus_id(char** environment, char* out, std::size_t bytes) {
  out[0] = 0;
  Driver driver{};
  int devices = 0;
  if (!find(driver) || driver.count(&devices) != CUDA_SUCCESS) return;
  const int device = device_of_process(driver, devices, local_rank_from(environment));
  if (device < 0 || driver.bus_id(out, static_cast<int>(bytes), device) != CUDA_SUCCESS) out[0] = 0;
}

}  // namespace hostprobe::probe
