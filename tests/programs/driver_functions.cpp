// driver_functions: a library that exports *functions* named like the driver's, which call the real ones through a handle.
// Built as a library for driver_uses_functions: every call passes two functions of the same name and is one call.
#define cuLaunchKernel declared_cuLaunchKernel
#define cuGraphLaunch declared_cuGraphLaunch
#define cuStreamSynchronize declared_cuStreamSynchronize
#define cuGetProcAddress_v2 declared_cuGetProcAddress_v2
#include "driver_by_lookup.h"
#undef cuLaunchKernel
#undef cuGraphLaunch
#undef cuStreamSynchronize
#undef cuGetProcAddress_v2
#define VICTIM_EXPORT extern "C" __attribute__((visibility("default")))

static Driver g_real;

VICTIM_EXPORT Driver real_driver() {
  open_library(RTLD_NOW);
  return g_real = find_driver(find_by_dlsym, false);
}
VICTIM_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                      unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) {
  return g_real.launch(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}
VICTIM_EXPORT CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) { return g_real.graph_launch(graph, stream); }
VICTIM_EXPORT CUresult cuStreamSynchronize(CUstream stream) { return g_real.stream_synchronize(stream); }
// A trap: a lookup of the name in the global scope would find this and never end.
VICTIM_EXPORT CUresult cuGetProcAddress_v2(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
