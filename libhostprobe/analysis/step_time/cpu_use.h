// cpu_use.h: how many CPUs the sampled threads of a process used together, by what the kernel counted of each (model/samples.h).
//
// Room 3. Threads that were not sampled are missing, so it is the least.
#pragma once

#include <map>
#include <vector>

#include "model/samples.h"
#include "model/window.h"

namespace hostprobe::analysis {

class CpuUse {
 public:
  explicit CpuUse(const std::map<ThreadKey, ThreadSamples>& samples);
  // Times as in SupplySample. 0: nothing is known of that time.
  double cpus_in(const Window& window) const;

 private:
  struct Rate {
    Window window;
    double cpus;
  };
  std::vector<std::vector<Rate>> threads_;  // of each, by time
};

}  // namespace hostprobe::analysis
