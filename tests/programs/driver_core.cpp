// driver_core: a core that opens the driver by itself; driver_opens_plugin opens it with RTLD_DEEPBIND, so no exported
// function of a preloaded library is ever seen by it.
#include "driver_by_lookup.h"

extern "C" __attribute__((visibility("default"))) void plugin_work() {
  open_library(RTLD_NOW | RTLD_LOCAL);
  work_with(find_driver(find_by_dlsym, false), 12);
  use_procaddress(true);
  work_with(find_driver(find_by_procaddress, true), 13);
}
