// stuck_children.h: children that wait for a thread which they have not got.
//
// Room 2 (probe/). The writer thread, every few seconds: the main thread's children that were forked and have executed nothing since. One
// that has a single thread, in a futex which no other process can wake, and without a time limit, waits for ever: a library's pool stayed
// with its parent, or whoever held the lock did.
#pragma once

#include "probe/sources/source.h"

namespace hostprobe::probe {

// Each child once, when two looks have found it at the same place.
void note_stuck_children(const Round& round);

}  // namespace hostprobe::probe
