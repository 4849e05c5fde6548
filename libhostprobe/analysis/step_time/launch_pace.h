// launch_pace.h: how long a thread that launches is usually in no call between two of them.
//
// Room 3. What is longer is work of its own.
#pragma once

#include <vector>

#include "analysis/graph/path_graph.h"

namespace hostprobe::analysis {

class LaunchPace {
 public:
  // Whether the time in which `part` lies is of a usual length.
  bool is_usual(const HostThread& thread, const Window& part) const;

 private:
  friend LaunchPace launch_pace_of(const PathGraph& graph);
  double most_ns_ = 0;
};

LaunchPace launch_pace_of(const PathGraph& graph);

}  // namespace hostprobe::analysis
