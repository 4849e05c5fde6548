// control.h: what `hostprobe ctl` asks of this process, through the shared memory (Control in format/segment.h).
//
// Room 2 (probe/). The writer thread looks in each of its rounds, does it, and answers. Only who may write to the segment, the same
// user or root, can ask. What is asked was written by somebody else: it is copied, ended, and only then read.
#pragma once

namespace hostprobe::probe {

// Also notes in the trace when recording was paused or went on since the round before, whoever did it.
void answer_control();

}  // namespace hostprobe::probe
