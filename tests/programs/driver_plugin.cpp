// driver_plugin: a plug-in that is linked to libcuda.so.1 and opened late (by driver_opens_plugin).
#include "driver_by_plt.h"

extern "C" __attribute__((visibility("default"))) void plugin_work() {
  const Driver driver = driver_by_plt();
  work_with(driver, 11);
  call_ptsz_functions(set_up(driver));
}
