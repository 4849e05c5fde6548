// low_frequency.h: which part of a thread's own work was owed to a CPU that ran slower than others' or than before.
//
// Room 3. Compared are threads in the same steps: before them a CPU is often faster, because the others beside it do nothing yet. What a
// thread does by itself takes longer by what its CPU is slower; what it waits for does not.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/graph/path_graph.h"
#include "analysis/measures/frequency.h"

namespace hostprobe::analysis {

class LowFrequency {
 public:
  // `steps` and what is asked later on the axis; `tid`: the thread that makes the steps.
  LowFrequency(const Trace& trace, const TimeAxis& axis, const Window& steps, std::uint32_t tid);

  // Of that thread's CPUs in the steps; 0: measured too seldom.
  double usual_ghz() const { return usual_ghz_; }
  // What it might have been: the best of its own for a while, or what is usual of the other ranks. Once, before the question below.
  void compare_with(const std::vector<double>& usual_elsewhere_ghz);
  // 0: as quick as it might be, or not known.
  double lost_part(const HostThread& thread, const Window& window) const;

 private:
  std::map<std::uint32_t, std::vector<FrequencySample>> threads_;  // smoothed, on the axis
  double usual_ghz_ = 0, best_ghz_ = 0;
};

}  // namespace hostprobe::analysis
