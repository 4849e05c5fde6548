// compress.h: zstd's level 1 over the bytes of one block.
//
// Room 2 (probe/). On the writer thread. The code stands in a library beside ours,
// lib/hostprobe/libhostprobe-zstd.so, that only a recording process opens: every process below a job pays for what is in
// libhostprobe.so itself. That library has zstd in it, hidden, and works in memory of ours: it neither meets another zstd in
// the process nor calls the program's malloc. Without it blocks are packed and not compressed.
#pragma once

#include <cstddef>

namespace hostprobe::probe {

// Valid when its bytes are zero. Of the workspace zstd 1.5 touches 0.6 MiB.
struct CompressMemory {
  void* context;
  alignas(64) char workspace[std::size_t{1} << 20];
};

// Bytes written to `out`; 0: they would not be fewer than `size`, or do not fit `room`.
using Compress = std::size_t (*)(CompressMemory* memory, const void* bytes, std::size_t size, void* out,
                                 std::size_t room);
extern Compress g_compress;  // nullptr: there is none

// By the writer thread when it starts.
void open_compressor();

}  // namespace hostprobe::probe

extern "C" std::size_t hostprobe_compress(hostprobe::probe::CompressMemory* memory, const void* bytes, std::size_t size,
                                          void* out, std::size_t room);
