// run_devices.cpp: see run_devices.h.
#include "run_devices.h"

#include <map>
#include <utility>

#include "model/timeline.h"

namespace hostprobe::analysis {

std::shared_ptr<const DeviceTimeline> exact_device(const Timeline& timeline) {
  DeviceTimeline exact = exact_timeline(timeline.trace());
  if (exact.source == ActivitySource::kNone) return nullptr;
  return std::make_shared<const DeviceTimeline>(std::move(exact));
}

bool is_read_again(const DeviceTimeline& device) {
  return device.source != ActivitySource::kEvents && device.source != ActivitySource::kBounds;
}

std::vector<std::shared_ptr<const DeviceTimeline>> devices_of(std::vector<HostedWork> works) {
  std::vector<std::shared_ptr<const DeviceTimeline>> all(works.size());
  std::map<std::string, std::vector<std::size_t>> hosts;
  for (std::size_t i = 0; i < works.size(); ++i) hosts[works[i].host].push_back(i);
  for (const auto& [host, own] : hosts) {
    const std::uint64_t base_ns = works[own.front()].first_ns;
    std::vector<GpuMember> members;
    for (const std::size_t i : own) {
      const auto offset_ns = static_cast<std::int64_t>(works[i].first_ns - base_ns);
      members.push_back({std::move(works[i].work), static_cast<double>(offset_ns)});
    }
    std::vector<DeviceTimeline> devices = gpu_timelines(std::move(members));
    for (std::size_t i = 0; i < own.size(); ++i)
      all[own[i]] = std::make_shared<const DeviceTimeline>(std::move(devices[i]));
  }
  return all;
}

}  // namespace hostprobe::analysis
