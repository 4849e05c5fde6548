// trigger.cpp: see trigger.h.
#include "probe/record/trigger.h"

#include <errno.h>
#include <stdio.h>

#include <atomic>

#include "probe/record/bell.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"

namespace hostprobe::probe {
namespace {

enum State : std::uint32_t { kNone, kBeingFilled, kWaits };
HP_OF_PROCESS std::atomic<std::uint32_t> g_state{kNone};
HP_OF_PROCESS Trigger g_trigger;
HP_OF_PROCESS std::atomic<std::uint64_t> g_number{0};
HP_OF_PROCESS std::uint64_t g_realtime_ns = 0;

// With three digits that count.
void write_ms(double ms, char (&out)[32]) { snprintf(out, sizeof out, "%.*f ms", ms < 10 ? 2 : ms < 100 ? 1 : 0, ms); }

}  // namespace

bool mode_has_dumps() { return g_options.mode == kFlight; }

bool request_trigger(TriggerReason reason, const char* text) {
  if (!mode_has_dumps()) return false;
  std::uint32_t none = kNone;
  if (!g_state.compare_exchange_strong(none, kBeingFilled, std::memory_order_acq_rel)) return false;
  g_trigger.reason = reason;
  std::size_t used = 0;
  for (; text[used] != 0 && used < sizeof g_trigger.text - 1; ++used) g_trigger.text[used] = text[used];
  g_trigger.text[used] = 0;
  g_realtime_ns = read_clock_ns(CLOCK_REALTIME);
  g_number.fetch_add(1, std::memory_order_relaxed);
  g_state.store(kWaits, std::memory_order_release);
  wake_writer();
  return true;
}

void request_slow_step(std::uint64_t number, double ms, double usual_ms) {
  const int saved = errno;
  char step[32], usual[32], text[sizeof(Trigger::text)];
  write_ms(ms, step);
  write_ms(usual_ms, usual);
  snprintf(text, sizeof text, "step %llu took %s, the median is %s", static_cast<unsigned long long>(number), step,
           usual);
  request_trigger(kBySlowStep, text);
  errno = saved;
}

bool take_trigger(Trigger& trigger) {
  if (g_state.load(std::memory_order_acquire) != kWaits) return false;
  trigger = g_trigger;
  g_state.store(kNone, std::memory_order_release);
  return true;
}

bool last_trigger(LastTrigger& last) {
  if (g_state.load(std::memory_order_acquire) == kBeingFilled || g_number.load(std::memory_order_relaxed) == 0)
    return false;
  last = {g_trigger, g_number.load(std::memory_order_relaxed), g_realtime_ns};
  std::atomic_thread_fence(std::memory_order_acquire);
  return g_state.load(std::memory_order_relaxed) != kBeingFilled;
}

}  // namespace hostprobe::probe
