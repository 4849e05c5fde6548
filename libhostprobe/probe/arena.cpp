// arena.cpp: see arena.h.
#include "arena.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace hostprobe::probe {
namespace {

char* g_begin = nullptr;
std::size_t g_bytes = 0;
std::atomic<std::size_t> g_used{0};

}  // namespace

bool arena_make(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  g_begin = static_cast<char*>(memory);
  g_bytes = bytes;
  g_used.store(0, std::memory_order_relaxed);
  return true;
}

void* arena_take(std::size_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  std::size_t at = g_used.fetch_add(bytes, std::memory_order_relaxed);
  return at + bytes <= g_bytes ? g_begin + at : nullptr;
}

}  // namespace hostprobe::probe
