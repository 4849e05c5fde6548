// run_devices.h: what ran on the GPUs of a run's processes, exactly or as calls and timing events tell.
//
// Room 3.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu_timeline.h"

namespace hostprobe::analysis {

// nullptr: what ran is not known exactly.
std::shared_ptr<const DeviceTimeline> exact_device(const Timeline& timeline);

// What is exact can be read again from the trace; a replay of all processes of a host cannot be had from one.
bool is_read_again(const DeviceTimeline& device);

// What one process gave its GPU, its host, and what that host's clock was at zero of its axis.
struct HostedWork {
  std::string host;
  std::uint64_t first_ns = 0;
  GpuWork work;
};

HostedWork hosted_work(const Timeline& timeline);

// Of each. Those on one host together: they share a clock, and wait for each other.
std::vector<std::shared_ptr<const DeviceTimeline>> devices_of(std::vector<HostedWork> works);

// Those of a run whose traces are read one after the other: once for what each gave its GPU, and again for the rest.
class RunDevices {
 public:
  void add(const Timeline& timeline);
  // Behind all add(). Of a trace that was not added: what it tells alone.
  std::shared_ptr<const DeviceTimeline> of(const Timeline& timeline);

 private:
  std::vector<std::string> paths_;  // of what was added and is not exact
  std::vector<HostedWork> works_;
  std::map<std::string, std::shared_ptr<const DeviceTimeline>> devices_;  // by path
};

}  // namespace hostprobe::analysis
