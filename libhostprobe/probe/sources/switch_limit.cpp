// switch_limit.cpp: see switch_limit.h.
#include "probe/sources/switch_limit.h"

#include <stdio.h>
#include <unistd.h>

#include "probe/record/chunk.h"
#include "probe/record/detail.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/writer/counters/thread_entries.h"
#include "probe/writer/file/events.h"
#include "probe/writer/steps/live_steps.h"

namespace hostprobe::probe {

HP_OF_PROCESS constinit SwitchRings g_switch_rings{};
HP_OF_PROCESS constinit SwitchCounts g_switch_counts{};

namespace {

// How often threads are held to their rates; how long they keep the events that they were given, in times of what that took.
constexpr std::uint64_t kLookNs = 40000000, kKeptTimes = 200;
constexpr double kUsualBudget = 500;  // g_options.budget: 0.5 %

HP_OF_PROCESS constinit SwitchRates g_rates{};
HP_OF_PROCESS constinit SwitchHoles g_holes{};
HP_OF_PROCESS std::uint64_t g_looked_ns = 0, g_attach_ns = 0;  // CLOCK_MONOTONIC: the last look; not before
HP_OF_PROCESS double g_times = 1;                              // of the usual rates
HP_OF_PROCESS std::uint64_t g_attached_ticks = 0;
HP_OF_PROCESS bool g_follows = false;  // some threads have no events that their children could inherit

bool lacks_events(ThreadEntry& entry) {
  return is_live(entry) && !g_switch_rings.has_thread(entry.tid) && !is_left_out(entry.tid);
}

// Threads that make steps count most, then those that record: others may wait for them.
double weight_of(std::uint32_t tid) {
  if (tid == static_cast<std::uint32_t>(getpid()) || tid == live_step_counter().tid) return 4;
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    const ThreadEntry& entry = g_segment.threads[i];
    if (entry.tid == tid && is_live(g_segment.threads[i])) return entry.records > 0 ? 2 : 1;
  }
  return 1;
}

void tell_left_out(unsigned before) {
  const unsigned now = g_rates.left_out();
  if ((before == 0) == (now == 0)) return;
  char text[sizeof EventRow::text] = "context switches of all threads are recorded again";
  if (now > 0 &&
      snprintf(text, sizeof text, "context switches of %u thread%s are left out: more than %.0f a second cost too much",
               now, now == 1 ? "" : "s", SwitchRates::kMostASecond * g_times) < 0)
    text[0] = 0;
  note_event(kEventDetail, 0, detail_shed(), 0, text);
}

// Nobody has events from here on, until attach_again().
void detach() {
  g_switch_rings.detach_all([](std::uint32_t tid) {
    if (!is_left_out(tid)) return false;
    g_rates.leave_out(tid, 1, 0, 0);  // what its buffer held is gone
    return true;
  });
  if (!g_switch_rings.is_per_thread()) g_holes.open(ticks());
  g_switch_counts.forget_all();
  g_follows = true;
}

void attach_again(std::uint64_t now_ns) {
  const auto on_none = [now_ns](std::uint32_t tid) { g_rates.leave_out(tid, ticks(), 0, now_ns); };
  g_switch_rings.attach_again(is_left_out, on_none);
  g_attached_ticks = ticks();
  g_holes.close(g_attached_ticks);
  const std::uint64_t done_ns = read_clock_ns(CLOCK_MONOTONIC);
  g_attach_ns = done_ns + kKeptTimes * (done_ns - now_ns);
}

void take_calm_back(std::uint64_t now_ns) {
  g_rates.take_back({now_ns, ticks()}, [](std::uint32_t tid) {
    g_switch_counts.forget(tid);
    return g_switch_rings.attach_one(tid);
  });
}

}  // namespace

bool open_limit(double times) {
  g_times = times * static_cast<double>(g_options.budget) / kUsualBudget;
  g_attached_ticks = ticks();
  g_looked_ns = read_clock_ns(CLOCK_MONOTONIC);
  g_holes = SwitchHoles{};
  g_attach_ns = 0;
  g_follows = false;
  return g_switch_counts.open() && g_rates.open(g_times);
}

void close_limit() {
  g_switch_counts.close();
  g_rates.close();
}

bool holds_to_rates() { return g_rates.is_open(); }

void hold_to_rates(std::uint64_t now_ns) {
  if (!g_rates.is_open() || now_ns < g_looked_ns + kLookNs) return;
  g_looked_ns = now_ns;
  const unsigned before = g_rates.left_out();
  g_switch_rings.look([](std::uint32_t tid, double switches) { g_rates.add(tid, switches); });
  if (g_rates.look({now_ns, ticks()}, weight_of) || (g_follows && g_switch_rings.is_full())) detach();
  if (g_holes.is_open() && now_ns >= g_attach_ns) attach_again(now_ns);
  if (!g_holes.is_open() && g_rates.has_calm()) take_calm_back(now_ns);
  tell_left_out(before);
}

// Children of threads that are left out inherit nothing; what they make themselves does.
void follow_threads() {
  if (!g_follows || g_holes.is_open()) return;
  const std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    if (!lacks_events(entry) || g_switch_rings.adopts(entry.tid, {entry.creator_tid, entry.created_ticks})) continue;
    const bool has_events = g_switch_rings.attach_one(entry.tid);
    const std::uint64_t since = entry.created_ticks > g_attached_ticks ? entry.created_ticks : g_attached_ticks;
    g_rates.leave_out(entry.tid, since, has_events ? ticks() : 0, now_ns);
    g_switch_counts.forget(entry.tid);
  }
}

ThreadOrigin origin_of(std::uint32_t tid) {
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    if (is_live(entry) && entry.tid == tid) return {entry.creator_tid, entry.created_ticks};
  }
  return {};
}

bool is_left_out(std::uint32_t tid) { return g_rates.is_left_out(tid); }

void compare_runs(std::uint32_t tid, std::uint64_t created_ticks, std::uint64_t runs) {
  if (is_left_out(tid)) return g_rates.note_runs(tid, runs, read_clock_ns(CLOCK_MONOTONIC));
  if (!g_holes.is_open()) g_switch_counts.note(tid, runs, ticks(), created_ticks > g_attached_ticks);
}

std::uint64_t add_left_out(SwitchRow* rows, std::uint64_t begin_ticks, std::uint64_t end_ticks) {
  std::uint64_t count = 0;
  const auto add = [&](std::uint32_t tid, std::uint64_t since, std::uint64_t until) {
    if (count + 2 > kMostLeftOutRows || since >= end_ticks || (until != 0 && until <= begin_ticks)) return;
    rows[count++] = {since > begin_ticks ? since : begin_ticks, tid, 0, kLeftOutBegin};
    rows[count++] = {until == 0 || until > end_ticks ? end_ticks : until, tid, 0, kLeftOutEnd};
  };
  for (const SwitchHoles::Hole& hole : g_holes) add(0, hole.begin_ticks, hole.end_ticks);
  g_rates.each_absence(begin_ticks, add);
  return count;
}

void forget_left_out(std::uint64_t before_ticks) {
  g_rates.forget_absences(before_ticks);
  g_holes.forget(before_ticks);
}

}  // namespace hostprobe::probe
