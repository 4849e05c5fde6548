// loader_workers.h: what a DataLoader's worker processes add to a finding.
//
// Room 3.
#pragma once

#include "answer/run.h"

namespace hostprobe::analysis {

// To a wait for a DataLoader, and to no other finding: the remedy for the largest part of the wait, and what that gains. More workers help only
// where those that are there have no time left.
void add_workers(Finding& finding, const RunAnswer& run, const ProcessAnswer& process);

}  // namespace hostprobe::analysis
