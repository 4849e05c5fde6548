// block_head.h: the head that stands before each block of a trace file, and its checksums, as the reading side computes them.
//
// Room 3. format/file.h draws the head, and defines the checksum without its loop; the probe has its own copy of the same few lines.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "format/file.h"

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

// The payload is padded to whole words already.
inline BlockHead block_head(BlockKind kind, const void* payload, std::size_t bytes) {
  BlockHead head{};
  head.magic = kBlockMagic;
  head.kind = kind;
  head.payload_bytes = bytes;
  head.checksum = checksum(payload, bytes);
  head.head_checksum = checksum(&head, offsetof(BlockHead, head_checksum));
  return head;
}

}  // namespace hostprobe::analysis
