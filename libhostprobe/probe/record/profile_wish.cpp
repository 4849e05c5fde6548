// profile_wish.cpp: see profile_wish.h.
#include "probe/record/profile_wish.h"

#include <errno.h>
#include <stdio.h>

#include <atomic>

#include "probe/record/bell.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "settings/profile_rule.h"

namespace hostprobe::probe {
namespace {

// The export of a window lies in the step behind it, and what it made cold in the next one.
constexpr std::uint32_t kStepsBehind = 2;

HP_OF_PROCESS std::atomic<WindowState> g_state{WindowState::kNone};
HP_OF_PROCESS std::atomic<std::uint32_t> g_steps_behind{0};
HP_OF_PROCESS std::atomic<std::uint64_t> g_ended_ns{0};
HP_OF_PROCESS std::atomic<std::uint64_t> g_steps_seen{0};
HP_OF_PROCESS ProfileWish g_wish{};

bool is_soon_after_window() {
  const std::uint64_t ended_ns = g_ended_ns.load(std::memory_order_relaxed);
  return ended_ns != 0 && read_clock_ns(CLOCK_MONOTONIC) - ended_ns < g_options.trigger_s * 1000000000;
}

}  // namespace

bool wish_profile(std::uint64_t steps, const char* why, bool by_person) {
  if (!move_window(WindowState::kNone, WindowState::kBeingFilled)) return false;
  g_wish.steps = steps;
  g_wish.by_person = by_person;
  snprintf(g_wish.why, sizeof g_wish.why, "%s", why);
  g_state.store(WindowState::kWished, std::memory_order_release);
  wake_writer();
  return true;
}

const ProfileWish& profile_wish() { return g_wish; }

WindowState window_state() { return g_state.load(std::memory_order_acquire); }

bool move_window(WindowState from, WindowState to) {
  if (!g_state.compare_exchange_strong(from, to, std::memory_order_acq_rel)) return false;
  if (to == WindowState::kEnded) {
    g_steps_behind.store(kStepsBehind, std::memory_order_relaxed);
    g_ended_ns.store(read_clock_ns(CLOCK_MONOTONIC), std::memory_order_relaxed);
  }
  return true;
}

bool window_lengthens_steps() {
  return window_state() >= WindowState::kArmed || g_steps_behind.load(std::memory_order_relaxed) != 0;
}

void consider_profile(std::uint64_t number, std::uint64_t length, const StepLengths& before) {
  const bool is_own = window_lengthens_steps();
  if (const std::uint32_t behind = g_steps_behind.load(std::memory_order_relaxed); behind != 0)
    g_steps_behind.store(behind - 1, std::memory_order_relaxed);
  ProfileRule rule;
  if (!parse_profile_rule(g_options.profile, rule) || !rule.asks()) return;
  const std::uint64_t seen = g_steps_seen.fetch_add(1, std::memory_order_relaxed) + 1;
  const bool is_due = rule.every != 0 && seen % rule.every == 0;
  const bool is_slow = rule.slow != 0 && !is_own && before.is_slow(length, rule.slow / 10) && !is_soon_after_window();
  if (!is_due && !is_slow) return;
  const int saved = errno;
  char why[sizeof g_wish.why];
  if (is_slow)
    snprintf(why, sizeof why, "step %llu was slow", static_cast<unsigned long long>(number));
  else
    snprintf(why, sizeof why, "each %llu steps", static_cast<unsigned long long>(rule.every));
  wish_profile(rule.steps, why, false);
  errno = saved;
}

}  // namespace hostprobe::probe
