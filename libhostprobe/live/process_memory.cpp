// process_memory.cpp: see process_memory.h.
#include "process_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace hostprobe::analysis {
namespace {
std::atomic<std::uint64_t> g_reads{0};
}  // namespace

std::uint64_t ProcessMemory::reads() { return g_reads.load(); }

bool ProcessMemory::copy(void* to, std::uint64_t from, std::size_t bytes) const {
  const iovec here{to, bytes}, there{reinterpret_cast<void*>(from), bytes};
  ++g_reads;
  return process_vm_readv(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

std::size_t ProcessMemory::copy_some(void* to, std::uint64_t from, std::size_t bytes) const {
  // A transfer ends at the first piece that cannot be read whole, so the pieces are pages.
  constexpr std::uint64_t kPageBytes = 4096;
  std::vector<iovec> pieces;
  for (std::uint64_t at = from; at < from + bytes;) {
    const std::uint64_t end = std::min(from + bytes, (at / kPageBytes + 1) * kPageBytes);
    pieces.push_back({reinterpret_cast<void*>(at), static_cast<std::size_t>(end - at)});
    at = end;
  }
  const iovec here{to, bytes};
  ++g_reads;
  const ssize_t copied = process_vm_readv(pid_, &here, 1, pieces.data(), pieces.size(), 0);
  return copied < 0 ? 0 : static_cast<std::size_t>(copied);
}

}  // namespace hostprobe::analysis
