// own_word.h: changing a word of this thread so that a signal handler on it comes before or after, never in the middle.
//
// Room 2 (probe/). No single instruction of the first ARMv8 does that. A load and a store that are exclusive do: returning from
// a handler clears the monitor, so the store fails and the pair runs again. LSE's one instruction would need a look at what the
// CPU has, or libgcc's, which is a call. No other thread writes these words, so no pair runs twice for another reason. The
// hot path.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

#define HP_IN_LINE __attribute__((always_inline)) inline

// What the word was; it is larger by `value` now.
HP_IN_LINE std::uint64_t take_own(std::uint64_t& word, std::uint64_t value) {
  std::uint64_t before, after;
  std::uint32_t failed;
  asm volatile(
      "1:\n\t"
      "ldxr %[before], %[word]\n\t"
      "add %[after], %[before], %[value]\n\t"
      "stxr %w[failed], %[after], %[word]\n\t"
      "cbnz %w[failed], 1b"
      : [before] "=&r"(before), [after] "=&r"(after), [failed] "=&r"(failed), [word] "+Q"(word)
      : [value] "r"(value)
      : "memory");
  return before;
}
HP_IN_LINE void add_to_own(std::uint64_t& word, std::uint64_t value) { take_own(word, value); }
HP_IN_LINE void count_own(std::uint64_t& word) { take_own(word, 1); }

// A handler that enters and leaves puts back what it found, so a load and a store do. These two also keep the compiler from
// moving what lies between a pair of them out of it.
HP_IN_LINE void enter_own(std::uint32_t& depth) {
  __atomic_store_n(&depth, __atomic_load_n(&depth, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
  asm volatile("" : : : "memory");
}
HP_IN_LINE void leave_own(std::uint32_t& depth) {
  asm volatile("" : : : "memory");
  __atomic_store_n(&depth, __atomic_load_n(&depth, __ATOMIC_RELAXED) - 1, __ATOMIC_RELAXED);
}

HP_IN_LINE void prefetch_for_writing(std::uintptr_t at) { __builtin_prefetch(reinterpret_cast<const void*>(at), 1); }

}  // namespace hostprobe::probe
