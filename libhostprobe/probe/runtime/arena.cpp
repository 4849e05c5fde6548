// arena.cpp: see arena.h.
#include "probe/runtime/arena.h"
#include "probe/runtime/of_process.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace hostprobe::probe {
namespace {

HP_KEPT_BY_CHILDREN char* g_begin = nullptr;
HP_KEPT_BY_CHILDREN std::size_t g_bytes = 0;
HP_KEPT_BY_CHILDREN bool g_free_for_use = false;
HP_KEPT_BY_CHILDREN std::atomic<std::size_t> g_used{0};

}  // namespace

bool arena_make(std::size_t bytes) {
  void* place = g_free_for_use && g_bytes >= bytes ? g_begin : nullptr;
  int fixed = place == nullptr ? 0 : MAP_FIXED;
  g_free_for_use = false;
  void* memory = mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
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

void arena_leave(bool free_for_use) { g_free_for_use = free_for_use; }

}  // namespace hostprobe::probe
