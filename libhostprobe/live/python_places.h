// python_places.h: where in Python the threads of living processes are, that have been in a wait for long.
//
// Room 3. A wait leaves its stack when it ends; one that never ends leaves none. Read from outside by copying memory: no
// thread is stopped, and one that blocks does not move meanwhile. Where that is not allowed, nothing is said.
#pragma once

#include "answer/run.h"

namespace hostprobe::analysis {

void add_python_places(RunAnswer& run);

}  // namespace hostprobe::analysis
