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
    answer.kernels += activity.kernels;
    if (activity.unknown) continue;
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

// What the gaps in steps may be longer or shorter by, each at most by itself.
double gap_error_ns(const DeviceTimeline& device, const std::vector<BusySpan>& spans,
                    const std::vector<Window>& steps) {
  double all_ns = 0;
  auto step = steps.begin();
  for (std::size_t i = 0; i + 1 < spans.size(); ++i) {
    const Window gap{spans[i].end_ns, spans[i + 1].begin_ns};
    while (step != steps.end() && step->end_ns <= gap.begin_ns) ++step;
    if (step == steps.end()) break;
    if (step->begin_ns >= gap.end_ns) continue;
    const Activity& last = device.activities[spans[i].last];
    if (!last.unknown) all_ns += std::min(gap.length_ns(), static_cast<double>(last.error_ns));
  }
  return all_ns;
}

}  // namespace

GpuAnswer answer_gpu(const DeviceTimeline& device, const Window& window, const std::vector<Window>& steps) {
  GpuAnswer answer;
  answer.source = device.source;
  if (device.source == ActivitySource::kNone) return answer;
  count(device, window, answer);
  if (!device.is_whole()) return answer;
  const std::vector<BusySpan> spans = busy_spans(device), known = busy_spans(device, std::nullopt, Certainty::kKnown);
  // Without events of its own it is not known what ran, but when nothing did.
  if (device.source != ActivitySource::kBounds) answer.busy_ms = 1e-6 * busy_ns(known, window);
  measure_devices(device, window, answer);
  double steps_ns = 0, busy_in_steps_ns = 0, known_ns = 0;
  for (const Window& step : steps) {
    steps_ns += step.end_ns - step.begin_ns;
    busy_in_steps_ns += busy_ns(spans, step);
    known_ns += busy_ns(known, step);
  }
  if (steps_ns <= 0) return answer;
  answer.idle_in_steps_pct = 100 * std::max(0.0, 1 - busy_in_steps_ns / steps_ns);
  answer.unknown_pct = 100 * std::max(0.0, busy_in_steps_ns - known_ns) / steps_ns;
  answer.idle_error_pct = std::min(100.0, 100 * gap_error_ns(device, spans, steps) / steps_ns);
  return answer;
}

KernelTimes kernel_times(const DeviceTimeline& device) {
  std::vector<Histogram> by_name(device.names.size());
  for (const Activity& activity : device.activities)
    if (activity.type == ActivityType::kKernel && !activity.unknown)
      by_name[activity.name].add(activity.end_ns - activity.begin_ns);
  KernelTimes times;
  for (std::size_t i = 0; i < by_name.size(); ++i)
    if (by_name[i].count() > 0) times[device.names[i]].add(by_name[i]);
  return times;
}

}  // namespace hostprobe::analysis
