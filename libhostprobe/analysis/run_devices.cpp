// run_devices.cpp: see run_devices.h.
#include "run_devices.h"

#include <map>
#include <string>
#include <utility>

#include "model/timeline.h"
#include "trace/trace_head.h"

namespace hostprobe::analysis {

std::shared_ptr<const DeviceTimeline> exact_device(const Timeline& timeline) {
  DeviceTimeline exact = exact_timeline(timeline.trace());
  if (exact.source == ActivitySource::kNone) return nullptr;
  return std::make_shared<const DeviceTimeline>(std::move(exact));
}

bool is_read_again(const DeviceTimeline& device) {
  return device.source != ActivitySource::kEvents && device.source != ActivitySource::kBounds;
}

void tell_devices(std::vector<Opened>& opened) {
  std::map<std::string, std::vector<Opened*>> hosts;
  for (Opened& one : opened)
    if (one.gpu_work != nullptr) hosts[host_of(one.trace->header)].push_back(&one);
  for (auto& [host, own] : hosts) {
    const std::uint64_t base_ns = own.front()->trace->clock.monotonic_ns_of(0);
    std::vector<GpuMember> members;
    for (Opened* one : own) {
      const std::uint64_t first_ns = one->trace->clock.monotonic_ns_of(0);
      members.push_back(
          {std::move(*one->gpu_work), static_cast<double>(static_cast<std::int64_t>(first_ns - base_ns))});
      one->gpu_work.reset();
    }
    std::vector<DeviceTimeline> devices = gpu_timelines(std::move(members));
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i]->device = std::make_shared<const DeviceTimeline>(std::move(devices[i]));
  }
}

}  // namespace hostprobe::analysis
