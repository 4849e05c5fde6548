// fault_places.h: which code of a thread touches pages that are not there, where it touches many.
//
// Room 2 (probe/). The writer thread, or whoever ends the trace. Such a thread is in the kernel for most of its time, where its timer
// (code_samples.h) does not see it. The kernel tells of each so many-th fault where it came from, some twenty times a second.
#pragma once

#include <cstdint>

#include "probe/sources/perf/perf_ring.h"

namespace hostprobe::probe {

struct FaultPlaces {
  PerfRing ring;
  std::uint64_t period;  // faults, of which one is told
};

// The thread had so many of them in that time: begins to tell of some, or of fewer or more. Where perf events are refused nothing is told.
void watch_fault_places(FaultPlaces& places, std::uint32_t tid, std::uint64_t faults, std::uint64_t passed_ns);
// As samples, into the file.
void take_fault_places(FaultPlaces& places, std::uint32_t tid);

}  // namespace hostprobe::probe
