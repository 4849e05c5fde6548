// gain.cpp: see gain.h.
#include "gain.h"

namespace hostprobe::analysis {

const char* gain_limit_id(GainLimit limit) {
  constexpr const char* kIds[] = {"", "gpu", "transfers", "host"};
  return kIds[static_cast<unsigned>(limit)];
}

}  // namespace hostprobe::analysis
