// numa.h: the fix `numa`: threads and memory of this process are on the node of its GPU.
//
// Room 2 (probe/). Threads that may run anywhere may run on that node only, so that what they allocate lies there (a policy of its own
// can be set by each thread only for itself); pages that lie elsewhere are moved there once. What cannot be undone: where the pages
// were before is not known.
#pragma once

#include "probe/fixes/row/fix.h"

namespace hostprobe::probe {

extern const Fix kNumaFix;

}  // namespace hostprobe::probe
