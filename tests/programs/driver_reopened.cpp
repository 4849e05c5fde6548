// driver_reopened: opens the driver, looks it up, closes it, and does so again, before it works with the last one.
#include "driver_by_lookup.h"

int main() {
  for (int i = 0; i < 5; ++i) {
    open_library(RTLD_NOW);
    use_procaddress(i % 2 == 0);
    const Driver driver = find_driver(i % 2 == 0 ? find_by_dlsym : find_by_procaddress, false);
    int version = 0;
    if (driver.launch == nullptr) return 1;
    reinterpret_cast<CUresult (*)(int*)>(dlsym(g_library, "cuDriverGetVersion"))(&version);
    printf("version above zero: %d, closed: %d\n", version > 0, dlclose(g_library));
  }
  open_library(RTLD_NOW);
  work_with(find_driver(find_by_dlsym, false), 3);
  dlclose(g_library);
  open_library(RTLD_NOW);
  work_with(find_driver(find_by_dlsym, false), 4);
  printf("done\n");
}
