// throttled.h: which part of the time in which a thread had no CPU was the quota of its group.
//
// Room 3. The kernel tells for how long the group was stopped between two readings: of what a thread missed there, that is at most so much.
#pragma once

#include <map>
#include <vector>

#include "analysis/graph/path_graph.h"
#include "analysis/measures/quota.h"

namespace hostprobe::analysis {

class ThrottledTime {
 public:
  // `times` on the graph's axis.
  explicit ThrottledTime(std::vector<Throttled> times) : times_(std::move(times)) {}
  // Of the `lost_ns` that the thread missed in the window. The group's time is taken once only for a thread.
  double take(const HostThread& thread, const Window& window, double lost_ns);

 private:
  std::vector<Throttled> times_;
  std::map<const HostThread*, std::vector<double>> taken_ns_;
};

}  // namespace hostprobe::analysis
