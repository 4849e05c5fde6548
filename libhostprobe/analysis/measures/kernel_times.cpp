// kernel_times.cpp: see kernel_times.h.
#include "kernel_times.h"

#include <vector>

namespace hostprobe::analysis {

KernelTimes kernel_times(const DeviceTimeline& device) {
  std::vector<Histogram> by_name(device.names.size());
  for (const Activity& activity : device.activities)
    if (activity.type == ActivityType::kKernel) by_name[activity.name].add(activity.end_ns - activity.begin_ns);
  KernelTimes times;
  for (std::size_t i = 0; i < by_name.size(); ++i)
    if (by_name[i].count() > 0) times[device.names[i]].add(by_name[i]);
  return times;
}

}  // namespace hostprobe::analysis
