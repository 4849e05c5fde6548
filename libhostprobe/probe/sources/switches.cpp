// switches.cpp: see switches.h.
#include "probe/sources/switches.h"

#include <errno.h>
#include <stdio.h>

#include "probe/record/detail.h"
#include "probe/record/gate.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/tick_rate.h"
#include "probe/sources/perf/perf_event.h"
#include "probe/sources/switch_drain.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

// Pages of a buffer. Locked memory is limited per user, and other things of the program may need theirs.
constexpr unsigned kTracePages = 128, kFlightPages = 32, kThreadPages = 8, kPagesTogether = 512;

// What a switch costs more for which the usual rates are made (switch_rates.h): where it is more, threads may have fewer of them.
constexpr double kUsualNs = 1000;

HP_OF_PROCESS bool g_failed = false;
HP_KEPT_BY_CHILDREN std::uint64_t g_switch_ns = 0;
HP_KEPT_BY_CHILDREN bool g_cost_known = false;

bool are_wanted() {
  return g_options.sched == 0 && g_options.mode != kMonitor && !g_failed && !switches_shed() &&
         __atomic_load_n(&g_gate.paused, __ATOMIC_RELAXED) == 0;
}

RingSetting wanted_setting() {
  const bool flight = g_options.mode == kFlight, each = configured_cpus() > SwitchRings::kMostCpus;
  unsigned pages = each ? kThreadPages : flight ? kFlightPages : kTracePages;
  while (!each && pages * configured_cpus() > kPagesTogether) pages /= 2;
  return {flight, each, pages};
}

void give_up(const RingFailure& failure) {
  char text[sizeof EventRow::text];
  snprintf(text, sizeof text, "context switches: %s", failure.text);
  g_failed = true;
  note_event(kEventSource, static_cast<std::uint32_t>(failure.error), 0, 0, text);
}

void measure_cost() {
  if (!g_cost_known) g_switch_ns = measure_event_switch(switch_event());
  g_cost_known = true;
}

double times_of_usual_rates() {
  const auto ns = static_cast<double>(g_switch_ns);
  return ns > kUsualNs ? kUsualNs / ns : 1;
}

void open() {
  measure_cost();
  if (const RingFailure failure = open_switches(wanted_setting(), times_of_usual_rates()); failure.error != 0)
    give_up(failure);
}

}  // namespace

void tend_switches(const Round& round) {
  const bool wanted = are_wanted();
  if (g_switch_rings.is_open() && !wanted) {
    drain_switches(true);
    close_switches();
  } else if (wanted && !round.own_descriptors) {
    give_up({ENOSYS, "the kernel is older than 5.13", false});
  } else if (!g_switch_rings.is_open() && wanted) {
    open();
  }
  if (g_switch_rings.is_open()) tend_open_switches();
}

void note_switches(const Round& round) { drain_switches(round.last); }

void dump_switches() { drain_switches(true); }

std::uint64_t switches_due(const Round&) { return switch_drain_ns(); }

void end_switches(bool has_file) {
  if (has_file) drain_switches(true);
  close_switches();
}

// A switch makes two records.
double switch_ticks() {
  const double switches = static_cast<double>(g_switch_rings.written()) / 2;
  return switches * static_cast<double>(g_switch_ns) / 1000 * ticks_per_us();
}

}  // namespace hostprobe::probe
