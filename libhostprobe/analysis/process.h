// process.h: answers everything about one process, from every event of its trace, which is read once.
//
// Room 3. questions.h holds who is asked; run_answer.cpp collects the processes of a run.
#pragma once

#include "answer/process.h"
#include "model/steps.h"

namespace hostprobe::analysis {

class Symbols;
class Timeline;
struct DeviceTimeline;
struct ProcessWork;
struct Trace;

// `cores`: how many threads may work at it. The answer does not depend on it.
// What ran on the GPU is read where `device` is null.
ProcessAnswer analyse_process(const Timeline& timeline, Symbols& symbols, unsigned cores = 1, const StepPlan& plan = {},
                              Window window = {}, const DeviceTimeline* device = nullptr, ProcessWork* work = nullptr);
ProcessAnswer analyse_process(const Trace& trace, Symbols& symbols);

}  // namespace hostprobe::analysis
