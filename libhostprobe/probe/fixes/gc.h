// gc.h: the fix `gc`: Python's collector runs less often, by higher thresholds.
//
// Room 2 (probe/). The thresholds become 50000, 50, 1000 (facts: docs/python.md), by the interpreter's own gc.set_threshold on its
// main thread, and what they were before when the fix is taken back. A program that has set its own thresholds, or switched the
// collector off, is left alone.
#pragma once

#include "probe/fixes/row/fix.h"

namespace hostprobe::probe {

extern const Fix kGcFix;

}  // namespace hostprobe::probe
