// code_samples.cpp: see code_samples.h.
#include "probe/sources/code_samples.h"

#include <errno.h>
#include <stdio.h>

#include "probe/record/detail.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/tick_rate.h"
#include "probe/sources/page_faults.h"
#include "probe/sources/perf/perf_event.h"
#include "probe/sources/perf/perf_ring.h"
#include "probe/sources/sample_rows.h"
#include "probe/sources/switch_limit.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kTimers = 32;
constexpr std::uint64_t kSwitchNs = 350;             // what a switch of such a thread costs more (docs/decisions/0025)
constexpr std::uint64_t kMostSwitches = 4000;        // a second: 0.14 % of the thread's time
constexpr std::uint64_t kUnwantedNs = 10000000000u;  // a thread that ran nothing for so long
constexpr std::uint64_t kSecondNs = 1000000000;

struct Timer {
  PerfRing ring;
  std::uint32_t tid;  // 0: free
  bool is_busy;       // it switches too often: no timer for a while
  bool is_judged;     // whether it does is known
  std::uint64_t start_ticks;
  std::uint64_t wanted_ns;
  std::uint64_t cpu_ns;  // of the thread since it has the timer, at its last sample
  std::uint64_t period_ns;
  std::uint64_t switches, counted_ns;
  PageFaults faults;
};
HP_OF_PROCESS constinit Timer g_timers[kTimers]{};
HP_OF_RECORDING double g_cost_ticks = 0;
HP_OF_PROCESS bool g_asked = false, g_refused = false;

//  header 8 | address 8 | pid 4 | tid 4 | time 8 | CPU time 8
struct CodeRecord {
  perf_event_header header;
  std::uint64_t address;
  std::uint32_t pid, tid;
  std::uint64_t raw_ns;
  std::uint64_t cpu_ns;
};
static_assert(sizeof(CodeRecord) == 40);

void refuse(int error, const char* what) {
  g_refused = true;
  char text[sizeof EventRow::text];
  snprintf(text, sizeof text, "code of running threads: %s", what);
  note_event(kEventSource, static_cast<std::uint32_t>(error), 0, 0, text);
}

// Programs have a period of their own: ours is near 1/HOSTPROBE_SAMPLES, or what the budget leaves of it, and another one for each
// thread.
std::uint64_t period_of(std::uint32_t tid) {
  const std::uint64_t usual = kSecondNs / g_options.samples * times_rarer();
  return usual - usual / 16 + usual / 8 * (tid * 2654435761u >> 24) / 256;
}

bool may_ask() {
  if (!g_asked && !may_ask_for_perf_events()) refuse(EPERM, "a seccomp filter is in force, so perf is not asked");
  g_asked = true;
  return !g_refused;
}

void open_timer(Timer& timer) {
  if (!may_ask()) return;
  perf_event_attr event = software_event(PERF_COUNT_SW_TASK_CLOCK);
  event.sample_period = timer.period_ns = period_of(timer.tid);
  event.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_READ;
  const int error = open_perf_ring(timer.ring, event, timer.tid);
  timer.cpu_ns = 0;
  if (error == 0 || error == ESRCH || error == EMFILE || error == ENFILE) return;
  refuse(error,
         error == EACCES ? "perf events are not allowed: set kernel.perf_event_paranoid to 2" : "no perf events here");
}

void free_timer(Timer& timer) {
  close_perf_ring(timer.ring);
  close_perf_ring(timer.faults.places);
  timer = {};
}

// Of time that had passed since the sample before and in which no sample came, the thread was in the kernel: its own code is all that
// samples show.
void keep(Timer& timer, const CodeRecord& record, std::uint64_t ticks_now, std::uint64_t raw_now_ns) {
  const std::uint64_t passed_ns = record.cpu_ns > timer.cpu_ns ? record.cpu_ns - timer.cpu_ns : 0;
  timer.cpu_ns = record.cpu_ns;
  const std::uint64_t ago_ns = raw_now_ns > record.raw_ns ? raw_now_ns - record.raw_ns : 0;
  const bool has_gap = passed_ns > timer.period_ns + timer.period_ns / 2;
  const std::uint64_t own_ns = has_gap ? timer.period_ns : passed_ns;
  SampleRow row{ticks_now - ticks_of(ago_ns / 1000),      timer.tid, kSampleCode, 0, record.address, 0,
                static_cast<std::uint32_t>(own_ns / 1000)};
  keep_sample(row);
  if (!has_gap) return;
  row.address = 0;
  row.running_us = static_cast<std::uint32_t>((passed_ns - own_ns) / 1000);
  keep_sample(row);
}

void drain(Timer& timer) {
  const std::uint64_t ticks_now = ticks(), raw_now_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
  CodeRecord record;
  while (take_perf_record(timer.ring, reinterpret_cast<char*>(&record), sizeof record))
    if (record.header.type == PERF_RECORD_SAMPLE && record.header.size == sizeof record && record.tid == timer.tid)
      keep(timer, record, ticks_now, raw_now_ns);
  if (timer.is_judged) take_page_faults(timer.faults, timer.tid, !g_refused);
}

// Sooner where nothing is known yet, or the thread switches so often that its switches are not recorded.
std::uint64_t pause_between_counts(const Timer& timer) {
  if (!timer.is_judged) return kSecondNs / 5;
  return timer.ring.page != nullptr && is_left_out(timer.tid) ? kSecondNs / 10 : kSecondNs;
}

void count_switches(Timer& timer, std::uint64_t now_ns) {
  if (now_ns < timer.counted_ns + pause_between_counts(timer)) return;
  const std::uint64_t all = runs_of(timer.tid), passed_ns = now_ns - timer.counted_ns;
  const bool is_first = timer.counted_ns == 0;
  const std::uint64_t fresh = all > timer.switches ? all - timer.switches : 0;
  timer.counted_ns = now_ns;
  timer.switches = all;
  if (is_first) {
    begin_page_faults(timer.faults, timer.tid);
    return;
  }
  timer.is_judged = true;
  if (timer.ring.page != nullptr) g_cost_ticks += static_cast<double>(ticks_of(fresh * kSwitchNs / 1000));
  timer.is_busy = fresh * kSecondNs > kMostSwitches * passed_ns;
  if (timer.is_busy) close_perf_ring(timer.ring);
}

// nullptr: all are in use.
Timer* timer_of(std::uint32_t tid, std::uint64_t start_ticks, std::uint64_t now_ns) {
  Timer* oldest = &g_timers[0];
  for (Timer& timer : g_timers) {
    if (timer.tid == tid && timer.start_ticks == start_ticks) return &timer;
    if (timer.wanted_ns < oldest->wanted_ns) oldest = &timer;
  }
  if (oldest->tid != 0) {
    if (now_ns < oldest->wanted_ns + kSecondNs) return nullptr;
    drain(*oldest);
    free_timer(*oldest);
  }
  oldest->tid = tid;
  oldest->start_ticks = start_ticks;
  return oldest;
}

}  // namespace

void want_code_samples(std::uint32_t tid, std::uint64_t start_ticks) {
  const std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  Timer* mine = timer_of(tid, start_ticks, now_ns);
  if (mine == nullptr) return;
  mine->wanted_ns = now_ns;
  count_switches(*mine, now_ns);
  if (mine->ring.page != nullptr && mine->period_ns != period_of(tid)) {
    drain(*mine);
    close_perf_ring(mine->ring);
  }
  if (mine->is_judged && !mine->is_busy && mine->ring.page == nullptr && !g_refused) open_timer(*mine);
}

void take_code_samples() {
  const std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  for (Timer& timer : g_timers) {
    if (timer.tid == 0) continue;
    drain(timer);
    if (now_ns > timer.wanted_ns + kUnwantedNs)
      free_timer(timer);
    else
      count_switches(timer, now_ns);
  }
}

double code_sample_ticks() { return g_cost_ticks; }

void end_code_samples() {
  for (Timer& timer : g_timers)
    if (timer.tid != 0) drain(timer), free_timer(timer);
}

}  // namespace hostprobe::probe
