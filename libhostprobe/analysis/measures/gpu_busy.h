// gpu_busy.h: how busy the GPU was, exactly: from an imported profile or the simulated node.
//
// Room 3. Where neither is there, nothing is answered: calls of the host do not tell when their work ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/activity.h"
#include "model/busy_time.h"
#include "model/histogram.h"
#include "model/window.h"

namespace hostprobe::analysis {

struct KernelRow {
  std::string name;
  Histogram time;
};

struct DeviceBusy {
  std::uint32_t device = 0;
  double busy_ms = 0;
};

struct GpuAnswer {
  ActivitySource source = ActivitySource::kNone;
  std::uint64_t kernels = 0;
  double kernel_ms = 0;
  std::uint64_t copies = 0;
  std::uint64_t fills = 0;
  // Nothing where some activities are counted and have no place in time.
  std::optional<double> busy_ms;
  std::optional<double> idle_in_steps_pct;  // nothing where no steps are known
  std::vector<DeviceBusy> devices;          // where there are several
  std::vector<KernelRow> by_name;           // longest in all first
};

// Activities count for the window in which they begin; `steps` may be empty.
GpuAnswer answer_gpu(const DeviceTimeline& device, const Window& window, const std::vector<Window>& steps);

}  // namespace hostprobe::analysis
