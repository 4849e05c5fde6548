// The two clocks of the node: the wall clock (CLOCK_MONOTONIC nanoseconds) and, on the same scale, the virtual time of
// streams. Waiting for a virtual moment is waiting for the wall clock to pass it; how depends on the context's flags.
#pragma once
#include <cstdint>
#include <ctime>

namespace simnode {

inline int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

inline void spin_until(int64_t until_ns) {
  while (now_ns() < until_ns) relax();
}

// One round of a spinning wait for something that other threads must do. A sched_yield is due between rounds: where
// simulated devices outnumber CPUs, spinning through would keep away the very threads that are waited for.
inline void spin_a_while() {
  for (int i = 0; i < 200; ++i) relax();
}

enum class WaitMode { kSpin, kYield, kBlock };

void wait_until(int64_t until_ns, WaitMode mode);

}  // namespace simnode
