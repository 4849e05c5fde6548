// launch_samples.cpp: see launch_samples.h. The moment is random, because programs have a period of their own; and from there on so many
// launches are let by, at random, that every launch of that period is as likely as any other.
#include "probe/sources/launch_samples.h"

#include "probe/hooks/gpu_times.h"
#include "probe/hooks/queue_samples.h"
#include "probe/record/gate.h"
#include "probe/record/limits.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/tick_rate.h"
#include "probe/sources/call_pace.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kIdleNs = 250000000;  // where the one that is due does not come
constexpr std::uint64_t kLongNs = 2000000000;
constexpr std::uint64_t kStartNs = 2000000000;  // a start is no steady state, and a short program is over before
constexpr std::uint64_t kIntervals = 4;         // one is drawn from as many launches as come in so many

HP_OF_PROCESS std::uint64_t g_next_ns = 0;
HP_OF_PROCESS std::uint64_t g_random = 0;
HP_OF_PROCESS CallPace g_pace{};
HP_OF_PROCESS std::uint64_t g_drawn = 0, g_drawn_ticks = 0, g_drawn_ns = 0;
HP_OF_PROCESS std::uint64_t g_wait_ns = 0;

std::uint64_t interval_ns() { return 1000000000 / g_options.gpu_sample; }

void learn_pace() {
  const std::uint64_t taken = last_sample_ticks();
  if (g_drawn == 0 || taken <= g_drawn_ticks) return;
  g_pace.learn(g_drawn, taken - g_drawn_ticks);
}

void draw(std::uint64_t now_ns, std::uint64_t among) {
  g_drawn = 1 + random_below(g_random, among);
  g_drawn_ticks = ticks();
  g_drawn_ns = now_ns;
  count_down_launches(static_cast<std::uint32_t>(g_drawn));
}

bool is_armed() { return __atomic_load_n(&g_gate.recording, __ATOMIC_RELAXED) == kSampleDue; }

// Nothing happens where the gate is shut, or some launches are not recorded.
void arm() {
  std::uint32_t open = kEverything;
  __atomic_compare_exchange_n(&g_gate.recording, &open, kSampleDue, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

}  // namespace

std::uint64_t arm_launch_samples(const Round& round) {
  const std::uint64_t now_ns = round.now_ns;
  if (g_options.gpu_sample == 0 || g_options.gpu == kGpuOff) return kNever;
  if (g_next_ns == 0) g_next_ns = now_ns + kStartNs;
  if (now_ns < g_next_ns) return g_next_ns;
  g_gpu_time_interval_ns.store(round.shed ? 0 : interval_ns(), std::memory_order_relaxed);
  if (queues_cannot_be_sampled()) return g_next_ns = now_ns + kLongNs;
  g_next_ns = now_ns + interval_ns() / 2 + random_below(g_random, interval_ns());
  if (is_armed()) {
    // Looked for less and less often.
    g_wait_ns = g_wait_ns * 2 < kIdleNs ? g_wait_ns * 2 : kIdleNs;
    if (g_next_ns < now_ns + g_wait_ns) g_next_ns = now_ns + g_wait_ns;
    if (now_ns > g_drawn_ns + kLongNs) draw(now_ns, CallPace::kFewest);  // the pace was another one
  } else if (!round.shed) {
    g_wait_ns = interval_ns() / 2;
    learn_pace();
    draw(now_ns, g_pace.come_in(kIntervals * ticks_of(interval_ns() / 1000)));
    arm();
  }
  return g_next_ns;
}

}  // namespace hostprobe::probe
