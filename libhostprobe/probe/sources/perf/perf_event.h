// perf_event.h: what all perf events of ours have in common, and what a switch of a thread costs more that has one.
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

// By how much a thread's switches are longer while it has such an event, nanoseconds: a third of a microsecond on some machines and two on
// others. Measured on the calling thread, without a switch: turning an event off and on takes it off the CPU and puts it back, as the
// scheduler does (docs/decisions/0024). The records that it makes then are not in it, and cost little beside. 0: it cannot be,
// or a filter of system calls is in force, which might end the process.
std::uint64_t measure_event_switch(perf_event_attr event);

}  // namespace hostprobe::probe
