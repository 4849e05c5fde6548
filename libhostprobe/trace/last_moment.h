// last_moment.h: until when a process that did not end its trace is known to have lived, and how its threads stood then.
//
// Room 3. One that lives lives now, whatever its own hostprobe wrote last; of one that died the last proof of life is what
// it did last.
#pragma once

#include "trace.h"

namespace hostprobe::analysis {

// Of an open trace that is otherwise complete.
void find_last_moment(Trace& trace);

}  // namespace hostprobe::analysis
