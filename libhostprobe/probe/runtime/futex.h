// futex.h: waiting for a word of this process to change.
//
// Room 2 (probe/). By syscall(), which is libc's, but the program may interpose it; our own hook of it passes these on.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace hostprobe::probe {

// False: so much time has passed.
inline bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, long nanoseconds) {
  timespec limit{0, nanoseconds};
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, &limit, 0, 0) == 0 ||
         errno != ETIMEDOUT;
}

inline void futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, 0, 0);
}

}  // namespace hostprobe::probe
