// interrupted.h: what the kernel puts on a stack before a signal's handler runs there.
//
// Room 2 (probe/). The handler runs below it:
//
//   | siginfo 128 | flags | link | stack 24 | mask 128 | pad | fault address | x0 … x30 | sp | pc | pstate | pad | vectors …
//   0             128     136    144        168               304            312          560  568  576           592
//
// Vectors begin with their magic number and size; records of SVE and others follow them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

// FPSIMD_MAGIC and the size of that record are hardly anything else.
inline constexpr std::uint64_t kFrameMark = std::uint64_t{528} << 32 | 0x46508001;
inline constexpr std::uintptr_t kMarkInFrame = 592, kMaskInFrame = 168;

// Such a frame begins at `words`: no flags, no link, a stack pointer above it, and a pc. The siginfo is filled only for handlers
// that want one.
__attribute__((no_sanitize("address", "thread"))) inline bool looks_like_frame(const std::uint64_t* words) {
  constexpr std::uint64_t kLeastAddress = 4096;
  return words[16] == 0 && words[17] == 0 && words[70] > reinterpret_cast<std::uint64_t>(words) &&
         words[71] > kLeastAddress;
}

}  // namespace hostprobe::probe
