// safe_memory.h: copying memory that may not be there.
//
// Room 2 (probe/). A return address on a stack may be garbage. A
// thread that waits without the GIL can lose its own thread state: Py_FinalizeEx on another thread frees it, and looking at a
// flag first leaves a window in which the thread is descheduled. A signal handler that waits can see a half-made frame. No
// lock of ours closes these windows, and a SIGSEGV handler would be the host's business; so the kernel does the copying and
// reports EFAULT. Direct reads of Python's frames were tried under thousands of exits and never crashed, because today's
// interpreters happen to leave that memory mapped; that is luck, not a promise.
// Price: one system call, 0.5-1 µs, for up to kPieces places.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "probe/arch/architecture.h"

namespace hostprobe::probe {

struct Piece {
  void* to;
  std::uint64_t from;
  std::size_t bytes;
};
inline constexpr unsigned kPieces = 4;
inline constexpr std::uint64_t kPageBytes = 4096;  // larger ones are whole numbers of it

inline long own_thread() { return system_call_of_none(SYS_gettid); }

// This process's memory, for one read: an id that were kept longer would mean the parent's memory after a fork. By the
// thread and not the process, whose id stands for nothing any more once its first thread has ended.
class Memory {
 public:
  Memory() = default;
  // Of another process, where the kernel lets us.
  explicit Memory(long process) : thread_(process) {}
  // How many pieces, from the first, were copied whole. More than kPieces of them where the stack is our own: they take 32 bytes each.
  template <unsigned kMost = kPieces>
  unsigned copy(const Piece* pieces, unsigned count) const {
    iovec to[kMost], from[kMost];
    if (count > kMost) count = kMost;
    for (unsigned i = 0; i < count; ++i) {
      to[i] = {pieces[i].to, pieces[i].bytes};
      from[i] = {reinterpret_cast<void*>(pieces[i].from), pieces[i].bytes};
    }
    long copied = system_call_of_six(SYS_process_vm_readv, thread_, reinterpret_cast<long>(to), count,
                                     reinterpret_cast<long>(from), count, 0);
    if (copied < 0) return 0;
    unsigned whole = 0;
    for (; whole < count && static_cast<std::size_t>(copied) >= pieces[whole].bytes; ++whole) {
      copied -= static_cast<long>(pieces[whole].bytes);
    }
    return whole;
  }
  bool copy(void* to, std::uint64_t from, std::size_t bytes) const {
    const Piece piece{to, from, bytes};
    return copy(&piece, 1) == 1;
  }

 private:
  long thread_ = own_thread();
};

// An object's address: one of the program's, not in the first pages, aligned.
inline bool may_be_object(std::uint64_t address) {
  return address >= 16 * kPageBytes && address < kAddressEnd && address % 8 == 0;
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
