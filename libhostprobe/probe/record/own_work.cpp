// own_work.cpp: see own_work.h.
#include "probe/record/own_work.h"

#include "probe/runtime/of_process.h"

namespace hostprobe::probe {

HP_OF_PROCESS std::uint64_t g_own_work_ns[kShedLevels]{};

}  // namespace hostprobe::probe
