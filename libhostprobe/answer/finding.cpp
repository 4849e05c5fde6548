// finding.cpp: see finding.h.
#include "finding.h"

#include <cstddef>

namespace hostprobe::analysis {

const char* waited_for_id(WaitedFor what) {
  static constexpr const char* kIds[] = {"", "data_loader", "queue", "peers", "gpu", "gil", "sleep"};
  return kIds[static_cast<std::size_t>(what)];
}

}  // namespace hostprobe::analysis
