// poor_overlap.h: collectives that move their data beside nothing, although work that does not need them was there.
//
// Room 3. Two principles say what does not need what. Of collectives of one communicator behind each other, with no work in between, none
// waits for another one, so the data of all but the longest could have been moved beside the work before them. And who gathers three times
// without reducing in between gathers parameters, which no work of the step makes: so that could happen during the work before, and the
// reductions of their gradients during the work behind them. Where a rank overlaps any of it, it does what it can.
#pragma once

#include <vector>

#include "analysis/graph/job_graph.h"
#include "answer/step_time.h"
#include "answer/window.h"
#include "transfer_times.h"

namespace hostprobe::analysis {

// Takes it from the transfers. What would be left of the time of each of JobGraph::transfers; empty: nothing is to be gained.
std::vector<double> name_poor_overlap(const JobGraph& job, const std::vector<Window>& steps,
                                      const AllTransferTimes& times, StepTime& time);

}  // namespace hostprobe::analysis
