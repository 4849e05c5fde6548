// trigger.cpp: see trigger.h.
#include "trigger.h"

#include <atomic>

#include "writer.h"

namespace hostprobe::probe {
namespace {

enum State : std::uint32_t { kNone, kBeingFilled, kWaits };
std::atomic<std::uint32_t> g_state{kNone};
Trigger g_trigger;

}  // namespace

bool request_trigger(TriggerReason reason, const char* text) {
  std::uint32_t none = kNone;
  if (!g_state.compare_exchange_strong(none, kBeingFilled, std::memory_order_acq_rel)) return false;
  g_trigger.reason = reason;
  std::size_t used = 0;
  for (; text[used] != 0 && used < sizeof g_trigger.text - 1; ++used) g_trigger.text[used] = text[used];
  g_trigger.text[used] = 0;
  g_state.store(kWaits, std::memory_order_release);
  wake_writer();
  return true;
}

bool take_trigger(Trigger& trigger) {
  if (g_state.load(std::memory_order_acquire) != kWaits) return false;
  trigger = g_trigger;
  g_state.store(kNone, std::memory_order_release);
  return true;
}

void forget_trigger() { g_state.store(kNone, std::memory_order_relaxed); }

}  // namespace hostprobe::probe
