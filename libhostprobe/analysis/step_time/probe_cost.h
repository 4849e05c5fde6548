// probe_cost.h: how much longer the steps are for hostprobe's own work: that which threads do while others, or the GPU, wait for them.
//
// Room 3. By the pieces of lost time: what costs a thread something while nothing waits for it makes no step longer.
#pragma once

#include <map>
#include <vector>

#include "lost_parts.h"
#include "step_time_member.h"

namespace hostprobe::analysis {

class ProbeCost {
 public:
  explicit ProbeCost(const std::vector<StepTimeMember>& members);

  // What each rank lost in a step.
  void add_step(const std::vector<std::vector<LostPart>>& ranks);
  // Of each rank, in all steps; less than 0: the probe had not measured its costs.
  const std::vector<double>& ns() const { return ns_; }

 private:
  struct Thread {
    double rate = 0;       // of its time, beside what stands in its records
    double record_ns = 0;  // each
  };
  const Thread& cost_of(const StepTimeProcess& process, const HostThread& thread);
  double inside_ns(const StepTimeProcess& process, const HostThread& thread, const Window& window);

  const std::vector<StepTimeMember>& members_;
  std::vector<double> own_threads_part_;  // of the time, how long threads of hostprobe's own ran on each rank's host
  std::map<const HostThread*, Thread> threads_;
  std::vector<double> ns_;
};

}  // namespace hostprobe::analysis
