// gain.cpp: see gain.h.
#include "gain.h"

#include <algorithm>

namespace hostprobe::analysis {

bool is_clearly_less(double gained, double lost, double steps) {
  constexpr double kOfLost = 0.2, kOfSteps = 0.03;
  return lost - gained > std::max(kOfLost * lost, kOfSteps * steps);
}

const char* gain_limit_id(GainLimit limit) {
  constexpr const char* kIds[] = {"", "gpu", "transfers", "host"};
  return kIds[static_cast<unsigned>(limit)];
}

}  // namespace hostprobe::analysis
