// cpu_demand.h: which threads of a job want how many CPUs, and how many there are.
//
// Room 3. For findings of CPUs that are short: "without a CPU" helps nobody who is not told whose threads compete.
#pragma once

#include <string>

#include "advice_text.h"
#include "answer/run.h"

namespace hostprobe::analysis {

// On the host of the finding's rank, or of the whole job where it has one host. Empty: it is not known how many CPUs there are, or what
// its threads used.
Advice cpu_demand_advice(const RunAnswer& run, const Finding& finding);

// Where the process of the finding starts the threads of a pool: what its main thread mostly runs in the steps, "train_step (train.py:11)".
// "": samples of it do not show one place.
std::string pool_place_text(const RunAnswer& run, const Finding& finding);

// How many threads the job has and what of its CPUs they use, on a single host; "": not known.
std::string cpu_use_text(const RunAnswer& run);

}  // namespace hostprobe::analysis
