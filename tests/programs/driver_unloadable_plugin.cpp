// driver_unloadable_plugin: linked to a driver that goes when it is closed. Gives an address in that driver.
#include <cstdio>

extern "C" int cuLaunchKernel(long, long, long, long, long, long, long, long, long, long, long);
extern "C" int cuInit();

extern "C" __attribute__((visibility("default"))) const void* plugin_work() {
  printf("called cuLaunchKernel %d\n", cuLaunchKernel(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  return reinterpret_cast<const void*>(&cuInit);
}
