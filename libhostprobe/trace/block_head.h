// block_head.h: the head that stands before each block of a trace file; format/file.h draws it.
//
// Room 3. For those who write files: the writer of imported traces, and recovery.
#pragma once

#include <cstddef>

#include "checksum.h"
#include "format/file.h"

namespace hostprobe::analysis {

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
