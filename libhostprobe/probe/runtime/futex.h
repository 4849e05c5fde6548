// futex.h: waiting for a word of this process to change.
//
// Room 2 (probe/). By bare system calls, because our own hook of syscall() would record these.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "probe/runtime/at_start.h"

namespace hostprobe::probe {

// False: so much time has passed.
inline bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, long nanoseconds) {
  timespec limit{0, nanoseconds};
  return system_call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, value, word_of_pointer(&limit)) !=
         -ETIMEDOUT;
}

inline void futex_wake(std::atomic<std::uint32_t>& word) {
  system_call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE, 1);
}

}  // namespace hostprobe::probe
