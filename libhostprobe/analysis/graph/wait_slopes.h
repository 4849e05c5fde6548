// wait_slopes.h: whether a thread that another one waits for works at its own pace, or begins when it is waited for.
//
// Room 3. No record says what a thread without waits of its own reacts to. But who works at its own pace posts when it would have posted, and a
// waiter that comes later waits for less; who reacts posts later by as much. So the time between two posts is held against when the
// waiter came: a slope of 0 is the first, of 1 the second. A lock's holder, a poller and an interpreter that is asked for its lock react;
// a thread that fills a queue does not. Where it cannot be told a thread reacts, and so do those of the driver and of NCCL.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "path_graph.h"

namespace hostprobe::analysis {

class WaitSlopes {
 public:
  explicit WaitSlopes(const PathGraph& graph);

  // Of waits of that thread for the other one: 0 to 1. 0 too where the other's own waits tell what it reacts to.
  double of(std::int32_t waiter, std::int32_t waker) const;

 private:
  std::map<std::pair<std::int32_t, std::int32_t>, double> slopes_;
};

// Of each part.
std::vector<WaitSlopes> wait_slopes(const std::vector<PathGraph>& parts);

}  // namespace hostprobe::analysis
