// python_names.h: the names that a Python program gave its threads. CPython before 3.14 tells the system none of them.
//
// Room 2 (probe/). The writer thread asks, and the interpreter's main thread answers, which holds its lock.
#pragma once

#include "probe/sources/source.h"

namespace hostprobe::probe {

// Once in a round: notes names that have come, and asks again where threads have been seen that it has not asked about.
void note_python_names(const Round& round);

}  // namespace hostprobe::probe
