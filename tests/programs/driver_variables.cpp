// driver_variables: a library that exports *variables* named like driver functions (as some programs' own loaders do) and
// fills them with what dlsym gives. Built as a library for driver_uses_variables.
#define cuLaunchKernel declared_cuLaunchKernel
#define cuGraphLaunch declared_cuGraphLaunch
#define cuStreamSynchronize declared_cuStreamSynchronize
#define cuCtxSynchronize declared_cuCtxSynchronize
#define cuGetProcAddress_v2 declared_cuGetProcAddress_v2
#include "driver_by_lookup.h"
#undef cuLaunchKernel
#undef cuGraphLaunch
#undef cuStreamSynchronize
#undef cuCtxSynchronize
#undef cuGetProcAddress_v2

extern "C" {
#define VICTIM_VARIABLE(name) __attribute__((visibility("default"))) void* name
VICTIM_VARIABLE(cuLaunchKernel);
VICTIM_VARIABLE(cuGraphLaunch);
VICTIM_VARIABLE(cuStreamSynchronize);
VICTIM_VARIABLE(cuCtxSynchronize);
VICTIM_VARIABLE(cuGetProcAddress_v2);

__attribute__((visibility("default"))) Driver fill_variables() {
  open_library(RTLD_NOW);
  cuLaunchKernel = dlsym(g_library, "cuLaunchKernel");
  cuGraphLaunch = dlsym(g_library, "cuGraphLaunch");
  cuStreamSynchronize = dlsym(g_library, "cuStreamSynchronize");
  cuCtxSynchronize = dlsym(g_library, "cuCtxSynchronize");
  cuGetProcAddress_v2 = dlsym(g_library, "cuGetProcAddress_v2");
  return find_driver(find_by_dlsym, false);
}
}
