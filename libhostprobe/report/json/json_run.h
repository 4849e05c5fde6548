// json_run.h: which job of its run folder a document is about, and which hostprobe wrote it, as JSON.
//
// Room 3.
#pragma once

#include "answer/run.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

Json hostprobe_json();

// Adds `job` and `jobs` to what is told of a run, where its folder holds several.
void add_jobs_json(const RunAnswer& run, Json& json);

// Adds what the launcher said of the job, and `unwritten_ranks` where traces are missing.
void add_ranks_json(const RunAnswer& run, Json& json);

}  // namespace hostprobe::analysis
