// run_answer.h: every answer about a run: all its processes, and what could not be read.
//
// Room 3. What the reports print. As many traces are read at a time as there are cores.
#pragma once

#include "answer/run.h"
#include "run_query.h"
#include "trace/jobs.h"

namespace hostprobe::analysis {

// What is said of all processes together, findings too; the last part of analyse_run().
void tell_of_the_whole(RunAnswer& run);

// Throws std::invalid_argument when there is no such step.
RunAnswer analyse_run(const ChosenJob& chosen, const Progress& progress, const Effort& effort = {},
                      const StepQuery& query = {}, const LivingLook& look = {});

}  // namespace hostprobe::analysis
