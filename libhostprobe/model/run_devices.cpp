// run_devices.cpp: see run_devices.h.
#include "run_devices.h"

#include <utility>

#include "timeline.h"
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

HostedWork hosted_work(const Timeline& timeline) {
  const Trace& trace = timeline.trace();
  return {host_of(trace.header), trace.clock.monotonic_ns_of(0), gpu_work(timeline)};
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

void RunDevices::add(const Timeline& timeline) {
  if (exact_device(timeline) != nullptr) return;
  paths_.push_back(timeline.trace().path);
  works_.push_back(hosted_work(timeline));
}

std::shared_ptr<const DeviceTimeline> RunDevices::of(const Timeline& timeline) {
  if (!works_.empty()) {
    const auto devices = devices_of(std::exchange(works_, {}));
    for (std::size_t i = 0; i < devices.size(); ++i) devices_.emplace(paths_[i], devices[i]);
  }
  const auto known = devices_.find(timeline.trace().path);
  return known != devices_.end() ? known->second : std::make_shared<const DeviceTimeline>(gpu_timeline(timeline));
}

}  // namespace hostprobe::analysis
