// run_job.h: whose speed is the job's, and what its ranks' graphs together say of it (run_path.h).
//
// Room 3.
#pragma once

#include <vector>

#include "opened_traces.h"

namespace hostprobe::analysis {

// Where a rank's part in the job is not known there is no answer.
void answer_job_of(const std::vector<Opened>& opened, RunAnswer& run, Symbols& symbols, unsigned cores);

}  // namespace hostprobe::analysis
