// slow_gpus.h: ranks whose GPU takes longer for the same kernels than the others' do.
//
// Room 3. Collectives say nothing: they last as long as the slowest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/graph/path_graph.h"
#include "model/activity.h"

namespace hostprobe::analysis {

struct ComparedTimes {
  std::vector<double> ns;  // sorted
  double error_ns = 0;     // by which each may be wrong
};

using KernelDurations = std::map<std::string, ComparedTimes>;  // by name

// Of what is in the graph; of kernels that ran alone, where there are enough of them: what runs beside one makes it longer.
KernelDurations kernel_durations(const PathGraph& graph, const DeviceTimeline& device);

// Of each member: how much longer its kernels last, where most of its kernel time is in kernels that there last longer than nearly all
// of the same name elsewhere, and by more than the times may be wrong; else 1.
std::vector<double> slow_gpus(const std::vector<KernelDurations>& members);

}  // namespace hostprobe::analysis
