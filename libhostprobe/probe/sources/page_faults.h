// page_faults.h: how many pages a thread touches that are not there, and which code of it touches them.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. A thread that touches many is in the kernel for most of its time, where its
// timer (code_samples.h) does not see it. So what the kernel counts is told, and of each so many-th fault where it came from, some twenty
// times a second.
#pragma once

#include <cstdint>

#include "probe/sources/perf/perf_ring.h"

namespace hostprobe::probe {

// Of a thread so far, as the kernel counts: page faults, those of them for which the disk was asked, and its time, in clock ticks.
struct FaultCounts {
  std::uint64_t faults, disk, user, kernel;
};

struct PageFaults {
  FaultCounts told;  // by the last row of them
  FaultCounts seen;  // when it was looked last
  std::uint64_t told_ns;
  PerfRing places;
  std::uint64_t period;  // faults, of which one is told in `places`
};

// What the thread had before does not count.
void begin_page_faults(PageFaults& own, std::uint32_t tid);
// As samples, into the file. `may_ask`: for perf events; without them places are not told.
void take_page_faults(PageFaults& own, std::uint32_t tid, bool may_ask);

}  // namespace hostprobe::probe
