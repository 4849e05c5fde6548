// child_ends.cpp: see child_ends.h. One word for each, so that whoever reads it reads a whole one.
#include "probe/record/child_ends.h"

#include <sys/wait.h>

#include <atomic>

#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint32_t kRoom = 32;
HP_OF_PROCESS constinit std::atomic<std::uint64_t> g_ends[kRoom]{};  // pid in the upper half; 0 = free

}  // namespace

void note_child_end(int pid, int status) {
  if (pid <= 0 || status == 0 || (!WIFSIGNALED(status) && !WIFEXITED(status))) return;
  const std::uint64_t end = std::uint64_t{static_cast<std::uint32_t>(pid)} << 32 | static_cast<std::uint32_t>(status);
  for (std::atomic<std::uint64_t>& place : g_ends) {
    std::uint64_t free = 0;
    if (place.compare_exchange_strong(free, end, std::memory_order_relaxed)) return;
  }
}

bool take_child_end(ChildEnd& end) {
  for (std::atomic<std::uint64_t>& place : g_ends) {
    const std::uint64_t word = place.exchange(0, std::memory_order_relaxed);
    if (word == 0) continue;
    end = {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
    return true;
  }
  return false;
}

}  // namespace hostprobe::probe
