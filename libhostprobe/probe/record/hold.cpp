// hold.cpp: see hold.h.
#include "probe/record/hold.h"

#include <atomic>

#include "probe/record/thread_local.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/futex.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

// A signal handler may jump out of an exec, and a program may lie on a disk that does not answer.
constexpr std::uint64_t kLongestNs = 300000000;
HP_OF_PROCESS std::atomic<std::uint32_t> g_holds{0};  // futex: how many there were, times two; odd while there is one
HP_OF_PROCESS std::atomic<const ThreadLocal*> g_holder{nullptr};
HP_OF_PROCESS std::atomic<std::uint64_t> g_until_ns{0};

}  // namespace

void await_exec() {
  constexpr long kLookNs = 20000000;
  if (g_holder.load(std::memory_order_acquire) == &t_local) return;
  for (std::uint32_t hold; is_held() && (hold = g_holds.load(std::memory_order_acquire)) % 2 != 0;) {
    if (read_clock_ns(CLOCK_MONOTONIC) >= g_until_ns.load(std::memory_order_acquire)) return release_gate();
    futex_wait(g_holds, hold, kLookNs);
  }
}

// One that was left by a jump out of a signal handler has nobody to end it.
bool hold_others() {
  const std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  std::uint32_t holds = g_holds.load(std::memory_order_acquire);
  const bool is_under_way = holds % 2 != 0;
  if (is_under_way && now_ns < g_until_ns.load(std::memory_order_acquire)) return false;
  if (!g_holds.compare_exchange_strong(holds, holds + (is_under_way ? 2 : 1), std::memory_order_acq_rel)) return false;
  g_holder.store(&t_local, std::memory_order_release);
  g_until_ns.store(now_ns + kLongestNs, std::memory_order_release);
  hold_gate();
  return true;
}

void let_others_go() {
  g_holder.store(nullptr, std::memory_order_release);
  release_gate();
  g_holds.fetch_add(1, std::memory_order_acq_rel);
  futex_wake_all(g_holds);
}

}  // namespace hostprobe::probe
