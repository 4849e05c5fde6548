// own_word.h: changing a word of this thread so that a signal handler on it comes before or after, never in the middle.
//
// Room 2 (probe/). One instruction each, without a lock: no other thread writes these words. The hot path.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

#define HP_IN_LINE __attribute__((always_inline)) inline

HP_IN_LINE void add_to_own(std::uint64_t& word, std::uint64_t value) {
  asm volatile("addq %1, %0" : "+m"(word) : "r"(value));
}
HP_IN_LINE void count_own(std::uint64_t& word) { asm volatile("incq %0" : "+m"(word)); }

// These two also keep the compiler from moving what lies between a pair of them out of it.
HP_IN_LINE void enter_own(std::uint32_t& depth) { asm volatile("incl %0" : "+m"(depth) : : "memory"); }
HP_IN_LINE void leave_own(std::uint32_t& depth) { asm volatile("decl %0" : "+m"(depth) : : "memory"); }

// What the word was; it is larger by `value` now.
HP_IN_LINE std::uintptr_t take_own(std::uintptr_t& word, std::uintptr_t value) {
  asm volatile("xaddq %0, %1" : "+r"(value), "+m"(word) : : "memory");
  return value;
}

HP_IN_LINE void prefetch_for_writing(std::uintptr_t at) {
  asm volatile("prefetchw %0" : : "m"(*reinterpret_cast<const char*>(at)));
}

}  // namespace hostprobe::probe
