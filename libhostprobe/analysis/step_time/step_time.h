// step_time.h: where the time of a job's steps went: each moment of each rank has one cause, and they sum to the steps.
//
// Room 3. While a rank's GPU works the cause is kGpuBound. Where it waits in a collective, it is what the rank that came last did at
// that moment. Where it has nothing to do, the launch that ended the gap says whose thread was late; that thread's own calls say why,
// and where it waited, what the thread that ended the wait did meanwhile, down to the first link. docs/reference/findings.md defines it.
// Without a GPU it is the thread that makes the steps, all of the time.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "answer/step_time.h"
#include "step_time_member.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {

// `slow`: see slow_gpus.h. `steps` on the graph's axis. `ends` of each step; empty: the critical path is not known. `shown`: of which
// step lanes are made; nothing: of none.
StepTime answer_step_time(const JobGraph& job, const std::vector<StepTimeMember>& members,
                          const std::vector<double>& slow, const std::vector<Window>& steps,
                          const std::vector<PathEnds>& ends, Symbols& symbols, std::optional<std::size_t> shown = {});

}  // namespace hostprobe::analysis
