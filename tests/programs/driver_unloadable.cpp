// driver_unloadable: as much of a driver as driver_closes asks for. It is no nodelete library, so dlclose unmaps it.
#include <cstdint>
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int cuInit() { return 100; }
EXPORTED int cuLaunchKernel() { return 400; }
EXPORTED int cuLaunchKernel_ptsz() { return 400; }
EXPORTED int cuStreamSynchronize_ptsz() { return 3; }
EXPORTED int cuMemAlloc_v2() { return 1; }

EXPORTED int cuGetProcAddress(const char* name, void** function, int, std::uint64_t flags) {
  if (strcmp(name, "cuLaunchKernel") != 0) return 500;
  *function = reinterpret_cast<void*>(flags == 2 ? &cuLaunchKernel_ptsz : &cuLaunchKernel);
  return 0;
}
