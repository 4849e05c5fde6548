// compress.h: zstd's level 1 over the bytes of one block.
//
// Room 2 (probe/). Used by record_block.cpp on the writer thread. The library is static and hidden, and works in memory of
// ours: it neither meets another zstd in the process nor calls the program's malloc. Opening the system's libzstd.so
// instead was rejected: small containers have none, and a load on our thread takes the loader's lock and runs the
// initialisers of somebody else's code.
#pragma once

#include <cstddef>

struct ZSTD_CCtx_s;

namespace hostprobe::probe {

// Valid when its bytes are zero. Its memory is its own, 1 MiB, of which it touches what it needs (0.6 with zstd 1.5).
class Compressor {
 public:
  // Bytes written to `out`; 0: they would not be fewer than `size`, or do not fit `room`.
  std::size_t compress(const void* bytes, std::size_t size, void* out, std::size_t room);
  // Child of a fork: what the parent's writer was in the middle of is not ours.
  void forget() { context_ = nullptr; }

 private:
  bool ready();

  ZSTD_CCtx_s* context_;
  alignas(64) char workspace_[std::size_t{1} << 20];
};

}  // namespace hostprobe::probe
