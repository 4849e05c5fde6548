// counter.h: the CPU's tick counter, its pause in loops, and additions that take a cycle each.
//
// Room 2 (probe/). On the hot path.
#pragma once

#include <cpuid.h>

#include <cstdint>

namespace hostprobe::probe {

// Plain rdtsc, not rdtscp: it may move by a few nanoseconds in the out-of-order window, which does not matter for calls of
// 100 ns and more, and it saves 6 ns each.
inline std::uint64_t ticks() { return __builtin_ia32_rdtsc(); }

// Ticks a second where the CPU says it; 0: it is measured only.
inline std::uint64_t counter_frequency() { return 0; }

// It goes on at one rate, whatever the CPU's frequency is.
inline bool counter_is_invariant() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}

inline void pause_in_loop() { __builtin_ia32_pause(); }

// 16 × `rounds` additions, each of which needs the one before. From register to register: those with a constant some CPUs
// put together.
inline void add_in_chain(std::uint64_t rounds) {
  std::uint64_t sum = 1;
  const std::uint64_t one = 1;
  asm volatile(
      "1:\n\t"
      ".rept 16\n\t"
      "add %[one], %[sum]\n\t"
      ".endr\n\t"
      "dec %[left]\n\t"
      "jnz 1b"
      : [sum] "+r"(sum), [left] "+r"(rounds)
      : [one] "r"(one)
      : "cc");
}

}  // namespace hostprobe::probe
