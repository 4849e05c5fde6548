// own_cost.h: what hostprobe costs this process, between two moments.
//
// Room 2 (probe/). By the writer, after it has counted what the threads did. The formula is the report's (format/own_cost.h).
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Up to one moment: since the process began to record, all threads together.
struct CostReading {
  std::uint64_t ns, ticks;
  double own_ticks;         // of the program's threads
  std::uint64_t writer_ns;  // as of the round before
};
CostReading read_cost();
CostReading cost_at_start();

// In 1/1000 % of wall time.
std::uint64_t cost_between(const CostReading& from, const CostReading& to);

}  // namespace hostprobe::probe
