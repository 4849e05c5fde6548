// late_work.h: work of a rank that others, or its GPU, wait for: of which cause it is.
//
// Room 3. A thread that is ahead of its GPU loses nothing by a lack of a CPU, until it is no longer ahead: from then on the GPU waits for
// its work as well. The replay without that lack says how much of that work would have been done in time.
#pragma once

#include <cstddef>
#include <vector>

#include "answer/step_time.h"
#include "gains.h"

namespace hostprobe::analysis {

// What the steps would gain without a lack of a CPU, beyond what it lost itself, becomes its own.
void move_late_work(const Gains& gains, StepTime& time);
void move_late_work(Cause lack, double beyond_ns, StepTime& time);
// A host that is ahead of its GPU launches in time, and what the GPU does then is no question. So where the steps would for certain gain more
// without a cause than it lost, launches that its GPU waits for there are its own, and time in which it is not known whether
// the GPU was busy.
void move_what_follows(StepTime& time);
// Of a rank that works longer the others' waiting was added up; it itself works as long.
void move_longer_work(std::size_t ranks, std::vector<LostTime>& lost);

}  // namespace hostprobe::analysis
