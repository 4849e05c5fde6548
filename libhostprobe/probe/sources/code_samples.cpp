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
#include "probe/sources/run_counts.h"
#include "probe/sources/sample_rows.h"
#include "probe/sources/switch_limit.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kTimers = 32;
constexpr std::uint64_t kMostNs = 1400000;  // a second, that its switches take longer: 0.14 % of the thread's time
constexpr std::uint64_t kMostTurns = 64;    // with more, it has no timer
constexpr std::uint64_t kUnwantedNs = 10000000000u;  // a thread that ran nothing for so long
constexpr std::uint64_t kSecondNs = 1000000000;

struct Timer {
  PerfRing ring;
  std::uint32_t tid;          // 0: free
  bool is_judged;             // how often it switches is known
  std::uint32_t turns, turn;  // it has the timer in one of so many rounds; 0: it switches too often
  std::uint64_t start_ticks;
  std::uint64_t wanted_ns;
  std::uint64_t begun_ns;  // its CPU time when it got the timer
  std::uint64_t cpu_ns;    // since then, at its last sample
  std::uint64_t period_ns;
  std::uint32_t stands_for;  // turns, when it got the timer
  RunCounts counted;
  std::uint64_t counted_ns;
  std::uint64_t in_kernel;  // then, in clock ticks of /proc
  PageFaults faults;
};
HP_OF_PROCESS constinit Timer g_timers[kTimers]{};
HP_OF_RECORDING double g_cost_ticks = 0;
HP_OF_PROCESS bool g_asked = false, g_refused = false;
HP_KEPT_BY_CHILDREN std::uint64_t g_switch_ns =
    0;  // what a switch of a thread with a timer takes longer; 0: not measured yet

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

// Of each thread another one, far from those of the threads made before and after: from 0 to 2^32.
std::uint64_t spread_of(std::uint32_t tid) { return tid * 2654435761u; }

// Programs have a period of their own: ours is near 1/HOSTPROBE_SAMPLES, or what the budget leaves of it, and another one for each
// thread. Who has the timer for a part of the time only has as many samples.
std::uint64_t period_of(const Timer& timer) {
  const std::uint64_t usual = kSecondNs / g_options.samples * times_rarer() / timer.turns;
  return usual - usual / 16 + (usual / 8 * spread_of(timer.tid) >> 32);
}

perf_event_attr timer_event(std::uint64_t period_ns) {
  perf_event_attr event = software_event(PERF_COUNT_SW_TASK_CLOCK);
  event.sample_period = period_ns;
  event.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_READ;
  return event;
}

bool may_ask() {
  if (!g_asked && !may_ask_for_perf_events()) refuse(EPERM, "a seccomp filter is in force, so perf is not asked");
  g_asked = true;
  if (!g_refused && g_switch_ns == 0) g_switch_ns = measure_event_switch(timer_event(kSecondNs));
  return !g_refused;
}

void open_timer(Timer& timer) {
  if (!may_ask()) return;
  timer.period_ns = period_of(timer);
  timer.stands_for = timer.turns;
  perf_event_attr event = timer_event(timer.period_ns);
  const int error = open_perf_ring(timer.ring, event, timer.tid);
  timer.cpu_ns = 0;
  timer.begun_ns = cpu_ns_of(timer.tid);
  if (error == 0 || error == ESRCH || error == EMFILE || error == ENFILE) return;
  refuse(error,
         error == EACCES ? "perf events are not allowed: set kernel.perf_event_paranoid to 2" : "no perf events here");
}

void keep_in_kernel(const Timer& timer, std::uint64_t at_ticks, std::uint64_t ns) {
  keep_sample({at_ticks, timer.tid, kSampleCode, 0, 0, 0, static_cast<std::uint32_t>(timer.stands_for * ns / 1000)});
}

// Of time that had passed since the sample before and in which no sample came, the thread was in the kernel: its own code is all that
// samples show. All stands for the rounds without a timer too.
void keep(Timer& timer, const CodeRecord& record, std::uint64_t ticks_now, std::uint64_t raw_now_ns) {
  const std::uint64_t passed_ns = record.cpu_ns > timer.cpu_ns ? record.cpu_ns - timer.cpu_ns : 0;
  timer.cpu_ns = record.cpu_ns;
  const std::uint64_t ago_ns = raw_now_ns > record.raw_ns ? raw_now_ns - record.raw_ns : 0;
  const bool has_gap = passed_ns > timer.period_ns + timer.period_ns / 2;
  const std::uint64_t own_ns = has_gap ? timer.period_ns : passed_ns;
  const SampleRow row{ticks_now - ticks_of(ago_ns / 1000),
                      timer.tid,
                      kSampleCode,
                      0,
                      record.address,
                      0,
                      static_cast<std::uint32_t>(timer.stands_for * own_ns / 1000)};
  keep_sample(row);
  if (has_gap) keep_in_kernel(timer, row.ticks, passed_ns - own_ns);
}

void drain(Timer& timer) {
  const std::uint64_t ticks_now = ticks(), raw_now_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
  CodeRecord record;
  while (take_perf_record(timer.ring, reinterpret_cast<char*>(&record), sizeof record))
    if (record.header.type == PERF_RECORD_SAMPLE && record.header.size == sizeof record && record.tid == timer.tid)
      keep(timer, record, ticks_now, raw_now_ns);
  if (timer.is_judged) take_page_faults(timer.faults, timer.tid, !g_refused);
}

// Whole periods since the last sample, after which none came, were in the kernel too.
void end_timer(Timer& timer) {
  if (timer.ring.page == nullptr) return;
  drain(timer);
  const std::uint64_t now_ns = cpu_ns_of(timer.tid), known_ns = timer.begun_ns + timer.cpu_ns;
  if (now_ns > known_ns && timer.begun_ns != 0)
    if (const std::uint64_t periods = (now_ns - known_ns) / timer.period_ns; periods > 0)
      keep_in_kernel(timer, ticks(), periods * timer.period_ns);
  close_perf_ring(timer.ring);
}

void free_timer(Timer& timer) {
  end_timer(timer);
  close_perf_ring(timer.faults.places);
  timer = {};
}

// Sooner where nothing is known yet, or the thread switches so often that its switches are not recorded, or only has a timer at times.
std::uint64_t pause_between_counts(const Timer& timer) {
  if (!timer.is_judged) return kSecondNs / 5;
  return timer.turns != 1 || is_left_out(timer.tid) ? kSecondNs / 10 : kSecondNs;
}

// How the kernel supplied the thread with CPUs since the count before.
void keep_supply(Timer& timer, const RunCounts& fresh, std::uint64_t passed_ns) {
  const std::uint64_t cpu_us = fresh.cpu_ns / 1000, delay_us = fresh.delay_ns / 1000, passed_us = passed_ns / 1000;
  const std::uint64_t kernel = timer.faults.seen.kernel - timer.in_kernel;
  timer.in_kernel = timer.faults.seen.kernel;
  if ((cpu_us | delay_us | passed_us | fresh.runs) > UINT32_MAX || kernel > UINT16_MAX) return;
  keep_sample({ticks(), timer.tid, kSampleSupply, static_cast<std::uint16_t>(kernel), cpu_us << 32 | delay_us,
               static_cast<std::uint32_t>(fresh.runs), static_cast<std::uint32_t>(passed_us)});
}

// Each change takes a new timer, so those it has are kept while they fit.
std::uint32_t turns_for(const Timer& timer, std::uint64_t switches, std::uint64_t passed_ns) {
  const std::uint64_t ns_a_second = switches * g_switch_ns * kSecondNs / (passed_ns + 1),
                      allowed = timer.turns * kMostNs;
  if (ns_a_second < allowed && (timer.turns == 1 || 2 * ns_a_second > allowed)) return timer.turns;
  const std::uint64_t turns = 1 + ns_a_second / kMostNs;
  return turns > kMostTurns ? 0 : static_cast<std::uint32_t>(turns);
}

void count_switches(Timer& timer, std::uint64_t now_ns) {
  if (now_ns < timer.counted_ns + pause_between_counts(timer)) return;
  RunCounts all{};
  const bool is_counted =
      read_run_counts(timer.tid, all) && all.cpu_ns > 0;  // not of one that ended, nor by every kernel
  if (!is_counted) all = timer.counted;
  const std::uint64_t passed_ns = now_ns - timer.counted_ns;
  const RunCounts before = timer.counted;
  const bool is_first = timer.counted_ns == 0;
  timer.counted_ns = now_ns;
  timer.counted = all;
  if (is_first) {
    may_ask();  // what turns are judged by is known then
    begin_page_faults(timer.faults, timer.tid);
    timer.in_kernel = timer.faults.seen.kernel;
    return;
  }
  const RunCounts fresh{all.cpu_ns - before.cpu_ns, all.delay_ns - before.delay_ns, all.runs - before.runs};
  if (is_counted) keep_supply(timer, fresh, passed_ns);
  timer.is_judged = true;
  if (timer.ring.page != nullptr) g_cost_ticks += static_cast<double>(ticks_of(fresh.runs * g_switch_ns / 1000));
  const std::uint32_t turns = turns_for(timer, fresh.runs, passed_ns);
  // The threads of a pool switch alike: they do not all have timers in one round, nor wait for the last of the rounds.
  if (turns > 1 && turns != timer.turns) timer.turn = static_cast<std::uint32_t>(spread_of(timer.tid) * turns >> 32);
  timer.turns = turns;
}

// The round is over. A timer of few turns is not kept beyond its own.
void take_turn(Timer& timer) {
  const bool is_its_turn = timer.turns != 0 && ++timer.turn >= timer.turns;
  if (is_its_turn) timer.turn = 0;
  if (timer.ring.page != nullptr && (!is_its_turn || timer.period_ns != period_of(timer))) end_timer(timer);
  if (is_its_turn && timer.ring.page == nullptr && !g_refused) open_timer(timer);
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
  if (mine->is_judged) take_turn(*mine);
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
    if (timer.turns != 1 && now_ns > timer.wanted_ns + kSecondNs / 2) end_timer(timer);
  }
}

double code_sample_ticks() { return g_cost_ticks; }

void end_code_samples() {
  for (Timer& timer : g_timers)
    if (timer.tid != 0) free_timer(timer);
}

}  // namespace hostprobe::probe
