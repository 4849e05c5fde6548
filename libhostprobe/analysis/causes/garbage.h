// garbage.h: what is known of the collections of a process, and which remedy that speaks for.
//
// Room 3.
#pragma once

#include "answer/run.h"

namespace hostprobe::analysis {

// For a finding of the steps: by the process that it is about, or of several the one that collected longest. Where the program asks for
// collections itself, its site is the line that does.
void add_garbage(Finding& finding, const RunAnswer& run);

}  // namespace hostprobe::analysis
