// queue.h: which share of launches found their stream empty, by samples, with the 95 % interval.
//
// The waist (answer/). analysis/measures/queue_samples.h fills it.
#pragma once

#include <cstdint>

namespace hostprobe::analysis {

struct QueueAnswer {
  std::uint64_t samples = 0;
  std::uint64_t empty = 0;
  double share_pct = 0;
  double low_pct = 0;
  double high_pct = 0;
};

}  // namespace hostprobe::analysis
