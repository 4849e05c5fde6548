// loader_use.h: what the workers of a rank's data loader did while the rank waited for a batch: they made samples, waited to be told
// which ones to make, or had not begun yet.
//
// Room 3. A worker is told by the rank what to make next when the rank takes a batch. Where batches are taken in their turn, those who are
// done wait for whoever is late. A worker begins with its process and ends with it; in between lie its first batch and its last.
#pragma once

#include <vector>

#include "analysis/graph/path_graph.h"
#include "answer/step_time.h"
#include "lost_parts.h"
#include "step_time_member.h"

namespace hostprobe::analysis {

class LoaderUse {
 public:
  LoaderUse(const PathGraph& graph, const StepTimeMember& member);

  // Of a step: the parts of this rank's time in it.
  void add_step(const Window& step, const std::vector<LostPart>& parts);
  const LoaderTime& time() const { return time_; }

 private:
  struct Worker {
    Window life, loading;      // from its first batch to its last; empty: it is not known to have made one
    std::vector<Window> idle;  // by time: it waits for an order
  };
  void add_restarts();
  void add_wait(const Window& window, double ns);

  std::vector<Worker> workers_;
  std::vector<Window> restarts_;  // by time: a worker begins or ends that others follow, or that followed others
  LoaderTime time_;
};

}  // namespace hostprobe::analysis
