// spin.cpp: the fix `spin`: waits on semaphores poll for a moment before they sleep, as long as there are CPUs to spare.
//
// Room 2 (probe/). What is polled, and when: polling.h. Waits on condition variables cannot be tried without giving the mutex back and
// taking it again in another order, so they sleep as ever.
// The writer says four times a second how many may poll.

#include <stdio.h>
#include <unistd.h>

#include <atomic>

#include "probe/fixes/placement/cpu_set.h"
#include "probe/fixes/placement/idle_cpus.h"
#include "probe/fixes/placement/machine.h"
#include "probe/fixes/row/fix.h"
#include "probe/fixes/waiting/polling.h"
#include "probe/fixes/waiting/sem_waits.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/tick_rate.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

HP_KEPT_BY_CHILDREN std::atomic<bool> g_wanted{false};
HP_OF_PROCESS std::atomic<FixState> g_settled{FixState::kOff};

// The writer's. Of the last looks at the machine the busiest counts.
constexpr unsigned kLooks = 4;
struct Seen {
  unsigned free[kLooks];
  unsigned looks;
  std::uint64_t tried;
  Polled before;  // when it was turned on
  CpuTimes times;
  std::uint64_t polled_ticks;  // by then
};
HP_OF_PROCESS Seen g_seen{};

void note(bool on, const char* text) { note_event(kEventFix, 0, on, 0, text); }

// Since the last look.
unsigned idle_since(const CpuSet& cpus) {
  constexpr std::size_t kStatBytes = 8192;  // of some 90 CPUs
  char stat[kStatBytes];
  CpuTimes now{};
  if (!read_small_file("/proc/stat", stat, sizeof stat) || !parse_cpu_times(stat, cpus, now)) return 0;
  const std::uint64_t polled = polled_so_far().ticks;
  const std::uint64_t us_of_tick = 1000000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  const std::uint64_t ours = (polled - g_seen.polled_ticks) / ticks_of(us_of_tick);
  const unsigned idle = idle_cpus(g_seen.times, now, ours);
  g_seen.times = now;
  g_seen.polled_ticks = polled;
  return idle;
}

// Where many run, the kernel's account of the time says whether they all had CPUs. It is long on large machines.
unsigned look() {
  char load[96];
  CpuSet cpus;
  if (!read_small_file("/proc/loadavg", load, sizeof load) || cpus_of_thread(0, cpus) != 0) return 0;
  const unsigned unwanted = free_cpus(load, cpus.count(), 1 + polling_now());
  if (2 * unwanted > cpus.count()) {
    g_seen.times = CpuTimes{};
    return unwanted;
  }
  const unsigned idle = idle_since(cpus);
  return unwanted > idle ? unwanted : idle;
}

unsigned least_free() {
  unsigned least = g_seen.free[0];
  for (unsigned i = 0; i < kLooks && i < g_seen.looks; ++i) least = g_seen.free[i] < least ? g_seen.free[i] : least;
  return least;
}

void go_on() {
  const std::uint64_t tried = polled_so_far().tried;
  if (polling_now() != 0 && tried == g_seen.tried) forget_polling();
  g_seen.tried = tried;
  g_seen.free[g_seen.looks++ % kLooks] = look();
  if (g_seen.looks >= 2 * kLooks) g_seen.looks -= kLooks;
  let_poll(least_free(), ticks_of(g_options.spin_us));
}

void begin() {
  if (!use_sem_waits(SemUse::kSpin, true)) {
    g_settled.store(FixState::kStandsBack, std::memory_order_release);
    return note(false, "spin stands back: something else stands in front of the semaphores");
  }
  g_seen = Seen{};
  g_seen.before = polled_so_far();
  char text[96];
  snprintf(text, sizeof text, "spin on: waits on semaphores poll for %llu us at most where CPUs are free",
           static_cast<unsigned long long>(g_options.spin_us));
  g_settled.store(FixState::kOn, std::memory_order_release);
  note(true, text);
  go_on();
}

void tell_what_came_of_it(const char* how) {
  const Polled now = polled_so_far();
  char text[96];
  snprintf(text, sizeof text, "spin %s: %llu of %llu waits that polled did not sleep; it took %.1f ms", how,
           static_cast<unsigned long long>(now.taken - g_seen.before.taken),
           static_cast<unsigned long long>(now.tried - g_seen.before.tried),
           static_cast<double>(now.ticks - g_seen.before.ticks) / (1000 * static_cast<double>(ticks_of(1))));
  note(false, text);
}

void end() {
  let_poll(0, 0);
  use_sem_waits(SemUse::kSpin, false);
  if (g_settled.exchange(FixState::kOff, std::memory_order_acq_rel) == FixState::kOn) tell_what_came_of_it("off");
}

void want(bool on) { g_wanted.store(on, std::memory_order_release); }

void tend(bool last) {
  const FixState settled = g_settled.load(std::memory_order_relaxed);
  if (last) {
    if (settled == FixState::kOn) tell_what_came_of_it("until the end");
  } else if (!g_wanted.load(std::memory_order_acquire)) {
    if (settled != FixState::kOff) end();
  } else if (settled == FixState::kOff) {
    begin();
  } else if (settled == FixState::kOn) {
    go_on();
  }
}

FixState state() { return state_of(g_wanted, g_settled); }

}  // namespace

const Fix kSpinFix{fix_name::spin, want, state, tend};

}  // namespace hostprobe::probe
