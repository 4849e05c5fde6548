// gc.h: the fix `gc`: Python's collector runs less often, by higher thresholds.
//
// Room 2 (probe/). The thresholds become 50000, 50, 1000 (facts: docs/python.md), by the interpreter's own gc.set_threshold on its
// main thread, and what they were before when the fix is taken back. A program that has set its own thresholds, or switched the
// collector off, is left alone.
#pragma once

namespace hostprobe::probe {

// Any thread. Done at the interpreter's next chance.
void want_gc_fix(bool on);

// Writer thread. `last`: what was done is noted, and nothing more is asked for.
void tend_gc_fix(bool last);

}  // namespace hostprobe::probe
