// launch_order.h: every call that could see or change the order of launches comes after those that still wait in a queue.
//
// Room 2 (probe/). In `before` of the hooks that launch nothing, and wherever we ask the driver ourselves. Price while no fix
// holds launches back: one load and one branch.
#pragma once

#include "probe/record/doors.h"
#include "probe/record/gate.h"

namespace hostprobe::probe {

inline std::uint32_t launch_bits() { return __atomic_load_n(&g_gate.launches, __ATOMIC_ACQUIRE); }

inline void launches_first() {
  if (HP_UNLIKELY(launch_bits() != 0)) submit_launches(false);
}
// Before a call after which handles of kernels may mean others.
inline void launches_first_and_forgotten() {
  if (HP_UNLIKELY(launch_bits() != 0)) submit_launches(true);
}

// What a call answers that may report errors of earlier, asynchronous ones.
template <class Result>
inline Result with_launch_error(Result result) {
  if (HP_UNLIKELY((launch_bits() & kLaunchFailed) != 0) && static_cast<int>(result) == 0)
    return static_cast<Result>(take_launch_error());
  return result;
}

}  // namespace hostprobe::probe
