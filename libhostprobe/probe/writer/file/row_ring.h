// row_ring.h: the newest rows of one kind, until they are in the file.
//
// Room 2 (probe/). The writer thread only. The rows themselves are scratch space, so that a child does not have to clear them.
#pragma once

#include <sys/uio.h>

#include <cstdint>

#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {

template <class Row, std::uint32_t kMost>
struct RowRing {
  std::uint32_t first, count;  // begin as zero

  void drop_oldest() {
    first = (first + 1) % kMost;
    --count;
  }
  // Where all are taken the oldest goes.
  void add(Row (&rows)[kMost], const Row& row) {
    if (count == kMost) drop_oldest();
    rows[(first + count++) % kMost] = row;
  }
  // All, oldest first; what the file does not take stays.
  void write(Row (&rows)[kMost], BlockKind kind) {
    if (count == 0) return;
    const std::uint32_t behind = kMost - first, head = count < behind ? count : behind;
    iovec parts[] = {{rows + first, head * sizeof(Row)}, {rows, (count - head) * sizeof(Row)}};
    if (append_block(kind, parts, head == count ? 1 : 2)) first = count = 0;
  }
};

}  // namespace hostprobe::probe
