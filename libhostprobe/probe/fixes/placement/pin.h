// pin.h: the fix `pin`: the main thread and the NCCL progress threads of a rank have CPUs of their own, next to its GPU.
//
// Room 2 (probe/). It begins once the process uses a GPU. Rules of the choice: placement.h; how ranks keep out of
// each other's way: cpu_claims.h; what must not notice: pinned_threads.h.
#pragma once

#include "probe/fixes/row/fix.h"

namespace hostprobe::probe {

extern const Fix kPinFix;

}  // namespace hostprobe::probe
