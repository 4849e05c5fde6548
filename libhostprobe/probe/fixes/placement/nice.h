// nice.h: the fix `nice`: the threads of this process come before those of others.
//
// Room 2 (probe/). It begins once the process uses a GPU, so that launchers, whose value children have, are left out. HOSTPROBE_NICE says by how much. Where the kernel groups sessions, that alone has no effect between them: then the
// group's own value is set too, by the process that leads its session, and else it is said that it cannot work.
#pragma once

#include "probe/fixes/row/fix.h"

namespace hostprobe::probe {

extern const Fix kNiceFix;

}  // namespace hostprobe::probe
