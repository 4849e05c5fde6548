// bell.cpp: see bell.h.
#include "probe/record/bell.h"

#include <atomic>

#include "probe/runtime/futex.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

HP_OF_PROCESS std::atomic<std::uint32_t> g_rung{0};
HP_OF_PROCESS std::atomic<std::uint32_t> g_asleep{0};

}  // namespace

void wake_writer() {
  g_rung.fetch_add(1, std::memory_order_release);
  if (g_asleep.load(std::memory_order_seq_cst) != 0) futex_wake(g_rung);
}

void call_writer() {
  g_rung.fetch_add(1, std::memory_order_release);
  futex_wake(g_rung);
}

std::uint32_t bell_count() { return g_rung.load(std::memory_order_acquire); }

void sleep_by_bell(std::uint32_t count, long nanoseconds, bool (*stays_awake)()) {
  g_asleep.store(1, std::memory_order_seq_cst);
  if (!stays_awake()) futex_wait(g_rung, count, nanoseconds);
  g_asleep.store(0, std::memory_order_relaxed);
}

}  // namespace hostprobe::probe
