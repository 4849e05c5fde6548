// got.h: patching the slots through which loaded objects call the driver and dlsym.
//
// Room 2 (probe/). Reaches what symbol lookup cannot: objects linked to libcuda.so.1 (whose calls we do not take by
// exporting the names) and objects opened RTLD_DEEPBIND, which never see a preload's dlsym.
#pragma once

#include <link.h>

namespace hostprobe::probe {

bool is_driver_library(const dl_phdr_info& object);
// Patches the slots of one object.
void patch_object(const dl_phdr_info& object);

}  // namespace hostprobe::probe
