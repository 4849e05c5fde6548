// mask_supply.h: threads that lack a CPU because they may use fewer of them than there are.
//
// Room 3. Their remedy is a wider mask: more CPUs would not be theirs, and more workers would share the same ones.
#pragma once

#include "answer/run.h"

namespace hostprobe::analysis {

// Of a finding of CPUs that are short, or of a data loader whose workers lack them, in `process`: how narrow the mask is, who set it, and
// what helps. Nothing where all may use as many, or the job uses the others too.
void add_masks(Finding& finding, const RunAnswer& run, const ProcessAnswer& process);

}  // namespace hostprobe::analysis
