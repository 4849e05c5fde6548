// gate.cpp: see gate.h.
#include "probe/record/gate.h"

#include <stddef.h>

#include <atomic>
#include <initializer_list>

#include "probe/record/limits.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {

HP_KEPT_BY_CHILDREN constinit Gate g_gate{};  // the kernel empties it itself
HP_KEPT_BY_CHILDREN constinit Limits g_limits{};

namespace {

constexpr GateWord kShut = 0, kOpen = kEverything, kHalfOpen = kNoLaunches, kArmed = kSampleDue, kHolding = kHeld;
constexpr GateWord kPaused = GateWord{1} << 32;
static_assert(offsetof(Gate, recording) == 0 && offsetof(Gate, paused) == 4);
HP_OF_PROCESS std::atomic<std::uint64_t> g_moved_ns{0};
HP_OF_PROCESS std::atomic<std::uint32_t> g_moves{0};

bool exchange(GateWord from, GateWord to, GateWord& now) {
  now = from;
  return __atomic_compare_exchange_n(gate_word(), &now, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

bool move_gate(GateWord from, GateWord to) {
  GateWord now;
  if (!exchange(from, to, now)) return now == to;
  if (from != kShut) g_moves.fetch_add(1, std::memory_order_relaxed);
  g_moved_ns.store(read_clock_ns(CLOCK_REALTIME), std::memory_order_relaxed);
  return true;
}

}  // namespace

void open_gate() { move_gate(kShut, kOpen); }
void shut_gate() { __atomic_store_n(gate_word(), kShut, __ATOMIC_SEQ_CST); }

// The writer or a launch may move it at the same time, but not again and again within these instructions.
bool pause_recording() {
  for (GateWord from : {kOpen, kHalfOpen, kArmed, kHolding, kOpen, kHalfOpen, kArmed, kOpen})
    if (move_gate(from, kPaused)) return true;
  return false;
}
// Half open or armed, it goes on already.
bool resume_recording() {
  if (move_gate(kPaused, kOpen)) return true;
  const GateWord now = __atomic_load_n(gate_word(), __ATOMIC_RELAXED);
  return now == kOpen || now == kHalfOpen || now == kArmed || now == kHolding;
}

bool hold_gate() {
  GateWord now;
  for (GateWord from : {kOpen, kHalfOpen, kArmed, kOpen, kHalfOpen, kArmed, kOpen})
    if (exchange(from, kHolding, now)) return true;
  return false;
}
void release_gate() {
  GateWord now;
  exchange(kHolding, kOpen, now);
}
std::uint32_t gate_moves() { return g_moves.load(std::memory_order_relaxed); }
std::uint64_t gate_moved_ns() { return g_moved_ns.load(std::memory_order_relaxed); }

}  // namespace hostprobe::probe
