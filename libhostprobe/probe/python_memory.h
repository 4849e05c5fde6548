// python_memory.h: copying memory that may not be there.
//
// Room 2 (probe/), used by python_frames.cpp only. A thread that waits without the GIL can lose its own thread state and
// frames: Py_FinalizeEx on another thread unmaps them, and looking at a flag first leaves a window in which the thread
// is descheduled and then reads an unmapped page. No lock of ours can close it, a SIGSEGV handler would be the host's
// business; so the kernel does the copying and reports EFAULT. Price: one system call, 0.5-1 µs, for up to kPieces places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sys/uio.h>
#include <unistd.h>

namespace hostprobe::probe {

struct Piece {
  void* to;
  std::uint64_t from;
  std::size_t bytes;
};
inline constexpr unsigned kPieces = 4;
inline constexpr std::uint64_t kPageBytes = 4096;

// How many pieces, from the first, were copied whole. Clobbers errno. The process id is asked for each time: a cached one
// would read the parent's memory after a fork.
inline unsigned copy_pieces(const Piece* pieces, unsigned count) {
  iovec to[kPieces], from[kPieces];
  if (count > kPieces) count = kPieces;
  for (unsigned i = 0; i < count; ++i) {
    to[i] = {pieces[i].to, pieces[i].bytes};
    from[i] = {reinterpret_cast<void*>(pieces[i].from), pieces[i].bytes};
  }
  ssize_t copied = process_vm_readv(getpid(), to, count, from, count, 0);
  unsigned whole = 0;
  while (whole < count && copied >= static_cast<ssize_t>(pieces[whole].bytes)) copied -= pieces[whole++].bytes;
  return copied < 0 ? 0 : whole;
}

inline bool copy_piece(void* to, std::uint64_t from, std::size_t bytes) {
  Piece piece{to, from, bytes};
  return copy_pieces(&piece, 1) == 1;
}

// An object's address: in the lower half, not in the first pages, aligned.
inline bool may_be_object(std::uint64_t address) {
  return address >= 16 * kPageBytes && address < std::uint64_t{1} << 47 && address % 8 == 0;
}

// `sure` bytes belong to the object; reads up to `wish` stop at the page's end, since the next page may be missing.
inline std::size_t bytes_to_read(std::uint64_t from, std::size_t sure, std::size_t wish) {
  std::size_t rest = kPageBytes - from % kPageBytes;
  std::size_t bytes = wish < rest ? wish : rest;
  return bytes > sure ? bytes : sure;
}

template <class T>
T field(const char* raw, unsigned offset) {
  T value;
  std::memcpy(&value, raw + offset, sizeof value);
  return value;
}
inline std::uint64_t word(const char* raw, unsigned offset) { return field<std::uint64_t>(raw, offset); }

}  // namespace hostprobe::probe
