// gpu_stretches.cpp: see gpu_stretches.h. As for launch samples the moment is random, and so is the number of calls that are let by from
// there on, so that each place in the program's period is as likely as any other.
#include "probe/sources/gpu_stretches.h"

#include "probe/hooks/gpu/gpu_ends.h"
#include "probe/record/gate.h"
#include "probe/record/limits.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/tick_rate.h"
#include "probe/sources/call_pace.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kMs = 1000000;
constexpr std::uint64_t kFirstNs = 50 * kMs;  // short programs are to be covered too
constexpr std::uint64_t kIdleNs = 250 * kMs;  // where the calls that are due do not come
constexpr std::uint64_t kLongNs = 2000 * kMs;
constexpr std::uint64_t kLetByNs = 5;  // what counting down costs a call that is let by

// The first second of a trace, and what is behind it.
constexpr std::uint64_t kYoungNs = 1000 * kMs, kYoungIntervalNs = 25 * kMs, kYoungPerCost = 250;
constexpr std::uint64_t kIntervalNs = 62500000, kPerCost = 1000;

HP_OF_PROCESS std::uint64_t g_begin_ns = 0, g_next_ns = 0;
HP_OF_PROCESS std::uint64_t g_random = 0;
HP_OF_PROCESS CallPace g_pace{};
HP_OF_PROCESS std::uint64_t g_let_by = 0, g_opened_ticks = 0, g_opened_ns = 0;
HP_OF_PROCESS std::uint64_t g_costs_ns[3]{};  // of the last stretches
HP_OF_PROCESS unsigned g_stretches = 0;
HP_OF_PROCESS std::uint64_t g_wait_ns = 0;

bool is_wanted(const Round& round) { return g_gate.recording != 0 && (!round.shed || g_options.gpu == kGpuEvents); }

void open(std::uint64_t now_ns, std::uint64_t among) {
  g_let_by = random_below(g_random, among);
  g_opened_ticks = ticks();
  g_opened_ns = now_ns;
  open_stretch(static_cast<std::uint32_t>(g_let_by));
}

// What the last one has cost, and how fast its calls came.
void learn() {
  const std::uint64_t last = last_stretch_ticks(), cost = take_stretch_ticks();
  if (g_opened_ticks == 0 || last < g_opened_ticks) return;
  // A coarse counter may not have moved meanwhile.
  if (last > g_opened_ticks) g_pace.learn(g_let_by + kStretch, last - g_opened_ticks);
  const auto cost_ns =
      static_cast<std::uint64_t>(static_cast<double>(cost) * 1000 / ticks_per_us()) + g_let_by * kLetByNs;
  g_costs_ns[g_stretches++ % 3] = cost_ns;
  g_opened_ticks = 0;
}

// Looked for less and less often; but the pace may have been another one.
std::uint64_t wait_for_calls(std::uint64_t now_ns) {
  g_wait_ns = g_wait_ns * 2 < kIdleNs ? g_wait_ns * 2 : kIdleNs;
  if (now_ns > g_opened_ns + kLongNs) open(now_ns, CallPace::kFewest);
  return now_ns + g_wait_ns;
}

}  // namespace

std::uint64_t usual_cost_ns(const std::uint64_t (&last)[3]) {
  const auto [a, b, c] = last;
  const std::uint64_t least = a < b ? a : b, most = a < b ? b : a;
  return c < least ? least : c > most ? most : c;
}

std::uint64_t stretch_interval_ns(std::uint64_t age_ns, std::uint64_t cost_ns) {
  const bool young = age_ns < kYoungNs;
  const std::uint64_t least = young ? kYoungIntervalNs : kIntervalNs;
  const std::uint64_t share = cost_ns * (young ? kYoungPerCost : kPerCost);
  return share > least ? share : least;
}

std::uint64_t open_gpu_stretches(const Round& round) {
  const std::uint64_t now_ns = round.now_ns;
  if (g_options.gpu == kGpuOff || g_options.mode == kMonitor) return kNever;
  if (g_begin_ns == 0) g_next_ns = (g_begin_ns = now_ns) + kFirstNs;
  if (now_ns < g_next_ns) return g_next_ns;
  if (gpu_ends_cannot_be_timed() || !is_wanted(round)) {
    close_stretch();
    g_opened_ticks = 0;
    return g_next_ns = now_ns + (gpu_ends_cannot_be_timed() ? kLongNs : kIdleNs);
  }
  if (stretch_is_open()) return g_next_ns = wait_for_calls(now_ns);
  learn();
  const std::uint64_t interval_ns = stretch_interval_ns(now_ns - g_begin_ns, usual_cost_ns(g_costs_ns));
  if (g_opened_ns != 0 && now_ns < g_opened_ns + interval_ns / 2) return g_next_ns = g_opened_ns + interval_ns;
  // As many as come in the time to the next one: more would make that later.
  open(now_ns, g_pace.come_in(ticks_of(interval_ns / 1000)));
  g_wait_ns = interval_ns / 4;
  return g_next_ns = now_ns + interval_ns / 2 + random_below(g_random, interval_ns);
}

}  // namespace hostprobe::probe
