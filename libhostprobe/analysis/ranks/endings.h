// endings.h: how the processes of a run ended, by everybody who saw it: their own traces, parents that collected them, and
// `hostprobe run`; and how often a launcher started ranks again.
//
// Room 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/run.h"
#include "process_work.h"
#include "trace/job_file.h"

namespace hostprobe::analysis {

// Fills in signal, status and time of each process that somebody saw end, and the time of the others' ends.
void tell_endings(RunAnswer& run, const ProcessWorks& works, const std::vector<JobFile>& jobs);

// Of ranks, or in a run without ranks of every process that no other one started; the first of each incarnation.
std::vector<Death> deaths_of(const RunAnswer& run);

Restarts restarts_of(const RunAnswer& run);

}  // namespace hostprobe::analysis
