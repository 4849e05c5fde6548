// transfer_causes.h: why transfers take as long as they do: threads that look after them late or have no CPU, links that are
// slow, work that they could be beside.
//
// Room 3.
#pragma once

#include <vector>

#include "analysis/graph/job_graph.h"
#include "answer/process.h"
#include "answer/step_time.h"
#include "answer/window.h"

namespace hostprobe::analysis {

// What is left of the time of transfers without a cause.
struct GainFactors {
  double late_progress = 1;            // 1: all
  std::vector<double> slow_transfers;  // of JobGraph::transfers; empty: all
  std::vector<double> late_transfers;  // the same, without their lack of a CPU
  std::vector<double> poor_overlap;    // the same, if they were overlapped
};

// Of the ranks' processes. Gives each cause its part of kTransfer, and says what is left of transfers without it.
GainFactors name_transfer_causes(const JobGraph& job, const std::vector<const ProcessAnswer*>& members,
                                 const std::vector<Window>& steps, StepTime& time);

}  // namespace hostprobe::analysis
