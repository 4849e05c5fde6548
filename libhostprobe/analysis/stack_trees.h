// stack_trees.h: flame graphs of a run: what the threads that matter ran, and what they waited in, as trees of stacks.
//
// Room 3. Of the processes that findings name, those that make the steps, and the busiest of their loader's workers. Each thread's events
// are walked once more, so this is for who asks.
#pragma once

#include <vector>

#include "opened_traces.h"

namespace hostprobe::analysis {

// Once the findings are there.
void add_stack_trees(const std::vector<Opened>& opened, RunAnswer& run, Symbols& symbols);

}  // namespace hostprobe::analysis
