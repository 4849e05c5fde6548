// gpu_busy.cpp: see gpu_busy.h.
#include "gpu_busy.h"

#include <algorithm>
#include <map>
#include <vector>

#include "model/busy_time.h"

namespace hostprobe::analysis {
namespace {

void count(const DeviceTimeline& device, const Window& window, GpuAnswer& answer) {
  std::vector<Histogram> names(device.names.size());
  double kernel_ns = 0;
  for (const Activity& activity : device.activities) {
    if (activity.begin_ns < window.begin_ns || activity.begin_ns >= window.end_ns) continue;
    answer.copies += activity.type == ActivityType::kCopy;
    answer.fills += activity.type == ActivityType::kFill;
    if (activity.type != ActivityType::kKernel) continue;
    ++answer.kernels;
    kernel_ns += activity.end_ns - activity.begin_ns;
    names[activity.name].add(activity.end_ns - activity.begin_ns);
  }
  if (window.is_whole()) {
    answer.kernels += device.kernels_without_time;
    kernel_ns += device.ns_without_time;
  }
  answer.kernel_ms = 1e-6 * kernel_ns;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].count() > 0) answer.by_name.push_back({device.names[i], std::move(names[i])});
  std::stable_sort(answer.by_name.begin(), answer.by_name.end(),
                   [](const KernelByName& l, const KernelByName& r) { return l.time.total_ns() > r.time.total_ns(); });
}

void measure_devices(const DeviceTimeline& device, const Window& window, GpuAnswer& answer) {
  std::map<std::uint32_t, double> busy;
  for (const DeviceStream& stream : device.streams) busy[stream.device] = 0;
  if (busy.size() < 2) return;
  for (const auto& [ordinal, unused] : busy)
    answer.devices.push_back({ordinal, 1e-6 * busy_ns(busy_spans(device, ordinal), window)});
}

}  // namespace

GpuAnswer answer_gpu(const DeviceTimeline& device, const Window& window, const std::vector<Window>& steps) {
  GpuAnswer answer;
  answer.source = device.source;
  if (device.source == ActivitySource::kNone) return answer;
  count(device, window, answer);
  if (!device.is_whole()) return answer;
  const std::vector<BusySpan> spans = busy_spans(device);
  answer.busy_ms = 1e-6 * busy_ns(spans, window);
  measure_devices(device, window, answer);
  double steps_ns = 0, busy_in_steps_ns = 0;
  for (const Window& step : steps) {
    steps_ns += step.end_ns - step.begin_ns;
    busy_in_steps_ns += busy_ns(spans, step);
  }
  if (steps_ns > 0) answer.idle_in_steps_pct = 100 * std::max(0.0, 1 - busy_in_steps_ns / steps_ns);
  return answer;
}

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
