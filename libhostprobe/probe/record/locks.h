// locks.h: how many threads of this process wait for a lock right now.
//
// Room 2 (probe/). Read by every unlock, written only by calls that block. A forked child begins with none.
#pragma once

#include <atomic>
#include <cstdint>

namespace hostprobe::probe {

extern constinit std::atomic<std::uint32_t> g_lock_waiters;

}  // namespace hostprobe::probe
