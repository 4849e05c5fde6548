// pipe_ends.h: into which pipes this process can write: whoever waits at their other ends waits for it.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. A write into a pipe that has room leaves no record.
#pragma once

#include "probe/sources/source.h"

namespace hostprobe::probe {

// Once, of the descriptors that the process has then.
void note_pipe_ends(const Round& round);

}  // namespace hostprobe::probe
