// Futex calls without libc: its syscall() is a function that the watching tool may replace.
#include "futex.h"

#include "clock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <climits>
#include <ctime>

namespace simnode {

namespace {

long raw_futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* until) {
#if defined(__x86_64__)
  long result;
  register const timespec* r10 __asm__("r10") = until;
  register void* r8 __asm__("r8") = nullptr;
  register uint64_t r9 __asm__("r9") = FUTEX_BITSET_MATCH_ANY;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(static_cast<long>(SYS_futex)), "D"(word), "S"(static_cast<long>(operation)),
                     "d"(static_cast<uint64_t>(value)), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#else
  return syscall(SYS_futex, word, operation, value, until, nullptr, FUTEX_BITSET_MATCH_ANY);
#endif
}

}  // namespace

long futex_wait(std::atomic<uint32_t>& word, uint32_t expected, int64_t until_ns) {
  timespec until{static_cast<time_t>(until_ns / 1000000000), static_cast<long>(until_ns % 1000000000)};
  return raw_futex(&word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, until_ns < 0 ? nullptr : &until);
}

void futex_wake(std::atomic<uint32_t>& word, int how_many) {
  raw_futex(&word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, static_cast<uint32_t>(how_many), nullptr);
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
