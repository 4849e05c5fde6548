// compress.h: zstd's level 1 over the bytes of one block.
//
// Room 2 (probe/). On the writer thread. zstd is in libhostprobe.so, hidden, and works in memory of ours: it neither meets another zstd in
// the process nor calls the program's malloc. What it brings lies where no start looks (layout.ld).
#pragma once

#include <cstddef>

namespace hostprobe::probe {

// Valid when its bytes are zero. Of the workspace zstd 1.5 touches 0.6 MiB.
struct CompressMemory {
  void* context;
  alignas(64) char workspace[std::size_t{1} << 20];
};

// Bytes written to `out`; 0: they would not be fewer than `size`, or do not fit `room`.
std::size_t compress(CompressMemory& memory, const void* bytes, std::size_t size, void* out, std::size_t room);

}  // namespace hostprobe::probe
