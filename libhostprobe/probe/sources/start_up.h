// start_up.h: mode monitor: what the counters held when steps became known, and how long steps are.
//
// Room 2 (probe/). The writer thread. Counters have no place in time: without what they held at the first step a reader would take
// imports and warm-up for a part of every step. The rows are written once; what steps took so far, every ten seconds.
#pragma once

#include "probe/sources/source.h"

namespace hostprobe::probe {

void note_start_up(const Round& round);

}  // namespace hostprobe::probe
