// calibrate.h: what hostprobe itself costs on this CPU, for the own-cost line of every report.
//
// Room 2 (probe/). Writer thread only, once: the real reserve/commit code is run on a chunk of its own.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

struct Costs {
  std::uint64_t record;  // 1/1024 ticks added to a call that is recorded
  std::uint64_t quiet;   // the same for a call that needs no record
};

Costs measure_costs();

}  // namespace hostprobe::probe
