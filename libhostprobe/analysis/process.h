// process.h: answers everything about one process, from every event of its trace, which is read once.
//
// Room 3. questions.h holds who is asked; run_answer.cpp collects the processes of a run.
#pragma once

#include "analysis/ranks/process_work.h"
#include "answer/process.h"
#include "model/activity.h"
#include "model/steps.h"
#include "model/timeline.h"
#include "model/window.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {

// `cores`: how many threads may work at it. The answer does not depend on it.
// What ran on the GPU is read where `device` is null.
ProcessAnswer analyse_process(const Timeline& timeline, Symbols& symbols, unsigned cores = 1, const StepPlan& plan = {},
                              Window window = {}, const DeviceTimeline* device = nullptr, ProcessWork* work = nullptr);
ProcessAnswer analyse_process(const Trace& trace, Symbols& symbols);

void set_chains(WakeChainAnswer chains, ProcessAnswer& answer);

}  // namespace hostprobe::analysis
