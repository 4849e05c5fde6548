// step_time_member.h: a rank whose steps are looked at, and the processes that load its data.
//
// Room 3.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/graph/job_graph.h"
#include "answer/process.h"

namespace hostprobe::analysis {

// The answer's `threads` say how much of a thread's own time it had no CPU.
struct StepTimeProcess {
  const Timeline* timeline = nullptr;
  const ProcessAnswer* answer = nullptr;
  TimeAxis axis = {};
};

struct StepTimeMember : StepTimeProcess {
  std::int32_t thread = -1;                   // that makes the steps, in the graph
  std::vector<StepTimeProcess> workers = {};  // of its data loader

  const StepTimeProcess& process_of(const HostThread& one) const {
    return one.process == 0 ? *this : workers[one.process - 1];
  }
};

}  // namespace hostprobe::analysis
