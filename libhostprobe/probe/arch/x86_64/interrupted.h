// interrupted.h: what the kernel puts on a stack before a signal's handler runs there.
//
// Room 2 (probe/). The handler runs below it:
//
//   | pretcode | flags | link | stack 24 | r8 … r15 di si bp bx dx ax cx sp ip | eflags | cs gs fs ss | … | mask | siginfo …
//   0          8       16     24         48                                168 176      192                304
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

// The word with cs 0x33 and ss 0x2b, of a 64-bit program, is hardly anything else.
inline constexpr std::uint64_t kFrameMark = 0x002b000000000033;
inline constexpr std::uintptr_t kMarkInFrame = 192, kMaskInFrame = 304;

// Such a frame begins at `words`: a return address, small flags, no link, and where the floating-point state lies.
__attribute__((no_sanitize("address", "thread"))) inline bool looks_like_frame(const std::uint64_t* words) {
  constexpr std::uint64_t kLeastAddress = 4096;
  std::uint64_t fpu = words[29];
  return words[0] > kLeastAddress && words[1] < 16 && words[2] == 0 && fpu != 0 && fpu % 8 == 0;
}

}  // namespace hostprobe::probe
