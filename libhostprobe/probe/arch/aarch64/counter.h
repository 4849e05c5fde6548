// counter.h: the CPU's tick counter, its pause in loops, and additions that take a cycle each.
//
// Room 2 (probe/). On the hot path.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// The virtual counter of the generic timer, the one behind the kernel's own clocks. No isb before it, as there is no lfence on
// x86-64: it may move in the out-of-order window, by less than a tick where a tick is 40 ns.
inline std::uint64_t ticks() {
  std::uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
}

// Ticks a second as the firmware says it: from 1 MHz in old machines to 1 GHz in new ones.
inline std::uint64_t counter_frequency() {
  std::uint64_t hertz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
  return hertz;
}

// The architecture promises it.
inline bool counter_is_invariant() { return true; }

// isb and not yield: yield does nothing on most CPUs, and the loops that pause are written for some 40 cycles.
inline void pause_in_loop() { asm volatile("isb" : : : "memory"); }

// 16 × `rounds` additions, each of which needs the one before.
inline void add_in_chain(std::uint64_t rounds) {
  std::uint64_t sum = 1;
  const std::uint64_t one = 1;
  asm volatile(
      "1:\n\t"
      ".rept 16\n\t"
      "add %[sum], %[sum], %[one]\n\t"
      ".endr\n\t"
      "subs %[left], %[left], #1\n\t"
      "b.ne 1b"
      : [sum] "+r"(sum), [left] "+r"(rounds)
      : [one] "r"(one)
      : "cc");
}

}  // namespace hostprobe::probe
