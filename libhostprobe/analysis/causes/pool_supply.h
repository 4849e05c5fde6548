// pool_supply.h: CPUs that are short because threads of a library's pool wait for each other on them.
//
// Room 3. Their remedy is fewer threads: with more CPUs, or a larger quota, more of them would spin.
#pragma once

#include <vector>

#include "answer/run.h"

namespace hostprobe::analysis {

// Of a finding of CPUs that are short, in `process`: which pool, and what helps. Nothing where its pools fit their CPUs.
void add_pools(Finding& finding, const RunAnswer& run, const ProcessAnswer& process);
// Of one rank, or of the job, those that the same pools explain are one finding, whatever of it was the quota; then its gain is that of
// as many threads as fit.
void join_pools(std::vector<Finding>& findings, const RunAnswer& run);

}  // namespace hostprobe::analysis
