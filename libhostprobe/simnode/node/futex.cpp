// Futex calls through libc, as NVIDIA's own libraries wait: a tool that watches the program sees where its threads sleep.
#include "futex.h"

#include "clock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <climits>
#include <ctime>

namespace simnode {

namespace {

// The caller's errno is not the driver's to change.
long call_futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* until) {
  int saved = errno;
  long result = syscall(SYS_futex, word, operation, value, until, nullptr, FUTEX_BITSET_MATCH_ANY);
  errno = saved;
  return result;
}

}  // namespace

long futex_wait(std::atomic<uint32_t>& word, uint32_t expected, int64_t until_ns) {
  timespec until{static_cast<time_t>(until_ns / 1000000000), static_cast<long>(until_ns % 1000000000)};
  return call_futex(&word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, until_ns < 0 ? nullptr : &until);
}

void futex_wake(std::atomic<uint32_t>& word, int how_many) {
  call_futex(&word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, static_cast<uint32_t>(how_many), nullptr);
}

void Mutex::lock_slowly() {
  for (int i = 0; i < 60; ++i) {
    uint32_t free = 0;
    if (state_.compare_exchange_weak(free, 1, std::memory_order_acquire)) return;
    relax();
  }
  while (state_.exchange(2, std::memory_order_acquire) != 0) futex_wait(state_, 2, -1);
}

}  // namespace simnode
