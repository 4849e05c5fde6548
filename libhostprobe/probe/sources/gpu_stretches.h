// gpu_stretches.h: when the next stretch of work in streams is timed on the GPU.
//
// Room 2 (probe/). On the writer thread, which wakes for it up to sixteen times a second, while work comes.
#pragma once

#include "probe/sources/source.h"

namespace hostprobe::probe {

// Of the last three the one in the middle; 0: one that has not been. A thread that loses its CPU in one of them makes that one's cost large.
std::uint64_t usual_cost_ns(const std::uint64_t (&last)[3]);

// From the begin of one stretch to that of the next: so long that it costs the program's threads no more than its share. `age_ns`: of
// the trace; `cost_ns`: of a stretch.
std::uint64_t stretch_interval_ns(std::uint64_t age_ns, std::uint64_t cost_ns);

// Opens the next one when it is time to.
std::uint64_t open_gpu_stretches(const Round& round);

}  // namespace hostprobe::probe
