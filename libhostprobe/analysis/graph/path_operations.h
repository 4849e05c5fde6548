// path_operations.h: in which operations of NCCL the processes of a job wait for each other, for their critical path.
//
// Room 3. A collective is the same one on all ranks by communicator and running number, a message by communicator, both ends,
// and how many went before it that way. What is not known of all who take part is not joined.
#pragma once

#include <memory>
#include <vector>

#include "analysis/ranks/collective_source.h"
#include "job_graph.h"

namespace hostprobe::analysis {

// One of the processes, in the order of JobGraph::parts.
struct OperationMember {
  const Timeline* timeline = nullptr;
  std::shared_ptr<const CollectiveKernels> kernels;
  TimeAxis axis;
};

// `error_ns`: what comparing clocks of the processes can be wrong by.
void join_operations(const std::vector<OperationMember>& members, double error_ns, unsigned cores, JobGraph& job);

}  // namespace hostprobe::analysis
