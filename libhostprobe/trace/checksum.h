// checksum.h: the checksum of format/file.h, as the reading side computes it.
//
// Room 3. The definition stands in
// format/file.h, which may not hold a loop; the probe has its own copy of the same few lines.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hostprobe::analysis {

inline constexpr std::uint64_t kChecksumSeed = 0x9e3779b97f4a7c15;

// `bytes` is a multiple of 8: every checksummed part of the format is.
inline std::uint64_t checksum(const void* start, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(start);
  std::uint64_t hash = kChecksumSeed;
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, at + i, 8);
    hash = std::rotl(hash ^ word, 27) * 0x100000001b3;
  }
  return hash;
}

}  // namespace hostprobe::analysis
