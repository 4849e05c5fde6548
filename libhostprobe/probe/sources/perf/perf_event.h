// perf_event.h: what all perf events of ours have in common.
//
// Room 2 (probe/). Without any right beyond those of the process; stamped by CLOCK_MONOTONIC_RAW (raw_clock.h).
#pragma once

#include <linux/perf_event.h>
#include <time.h>

#include <cstdint>

namespace hostprobe::probe {

inline perf_event_attr software_event(std::uint64_t config) {
  constexpr std::uint32_t kNeverWake = 1u << 31;  // nobody sleeps on its buffer, and waking costs
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = config;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC_RAW;
  attr.watermark = 1;
  attr.wakeup_watermark = kNeverWake;
  return attr;
}

}  // namespace hostprobe::probe
