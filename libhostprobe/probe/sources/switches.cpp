// switches.cpp: see switches.h.
#include "probe/sources/switches.h"

#include <errno.h>
#include <stdio.h>

#include "format/own_cost.h"
#include "probe/record/detail.h"
#include "probe/record/gate.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/sources/perf/switch_cost.h"
#include "probe/sources/switch_drain.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

// Pages of a buffer. Locked memory is limited per user, and other things of the program may need theirs.
constexpr unsigned kTracePages = 128, kFlightPages = 32, kThreadPages = 8, kPagesTogether = 512;

// Of what the records of a switch cost: the scheduler also has to look for whom it makes them (bench/switches.py).
constexpr std::uint64_t kSwitchTenths = 14;

HP_OF_PROCESS bool g_failed = false;
HP_KEPT_BY_CHILDREN std::uint64_t g_record_cost = 0;  // as measure_perf_record()
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
  if (!g_cost_known) g_record_cost = measure_perf_record() * kSwitchTenths / 10;
  g_cost_known = true;
}

void open() {
  if (const RingFailure failure = open_switches(wanted_setting()); failure.error != 0) return give_up(failure);
  measure_cost();
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

double switch_ticks() {
  return static_cast<double>(g_switch_rings.written()) * static_cast<double>(g_record_cost) / kCostUnitsPerTick;
}

}  // namespace hostprobe::probe
