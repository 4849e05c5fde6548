// running_samples.cpp: see running_samples.h.
//
// Price of a look at one Python thread in a virtual machine: docs/decisions/0025-running-samples.md. A thread that did not run since the
// last look costs what it takes to see where it is blocked, one in a wait that we know of nothing; while none uses CPU nobody looks.
#include "probe/sources/running_samples.h"

#include <string.h>

#include "probe/record/chunk.h"
#include "probe/record/gate.h"
#include "probe/record/limits.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/sources/code_samples.h"
#include "probe/sources/sample_rows.h"
#include "probe/sources/thread_moment.h"
#include "probe/sources/watched_threads.h"
#include "probe/stacks/stack_table.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kReadings = 4;  // of frames, at a look
constexpr std::uint64_t kFindAgainNs = 2000000000;

HP_OF_RECORDING std::uint64_t g_next_look_ns = 0;
HP_OF_RECORDING std::uint64_t g_random = 0;
HP_OF_RECORDING unsigned g_turn = 0;

bool is_on(const Round& round) {
  return g_options.samples != 0 && g_options.mode != kMonitor && !round.shed && !address_space_is_limited();
}

std::uint64_t interval_ns() { return 1000000000 / g_options.samples * times_rarer(); }

// Programs have a period of their own.
std::uint64_t random_pause() {
  if (g_random == 0) g_random = ticks() | 1;
  g_random ^= g_random << 13;
  g_random ^= g_random >> 7;
  g_random ^= g_random << 17;
  return interval_ns() / 2 + g_random % interval_ns();
}

void find_python(std::uint64_t now_ns) {
  PythonThread wanted[kWatchedThreads];
  unsigned count = 0;
  for (Watched& one : g_watched) {
    if (one.entry == 0 || one.python.state != 0 || now_ns < one.find_ns) continue;
    one.find_ns = now_ns + kFindAgainNs;
    wanted[count++] = one.python;
  }
  if (count == 0) return;
  python_threads_find(wanted, count);
  for (Watched& one : g_watched)
    for (unsigned i = 0; i < count; ++i)
      if (wanted[i].tid == one.tid && wanted[i].state != 0) one.python = wanted[i];
}

void read_blocked(const Watched& one) {
  std::uint16_t call = 0;
  std::uint64_t address = 0;
  if (!blocked_place(one.tid, call, address)) return;
  PythonFrame frames[kStackPythonFrames];
  unsigned count = 0;
  if (python_frames_of(one.python, frames, kStackPythonFrames, count) == PythonReading::kGone) return;
  keep_sample({ticks(), one.tid, kSampleBlocked, call, address,
               count == 0 ? std::uint16_t{0} : stack_of_frames(frames, count), 0});
}

void keep_frames(Watched& one, std::uint64_t cpu_ns, const PythonFrame* frames, unsigned count) {
  const std::uint64_t us = (cpu_ns - one.sampled_ns) / 1000;
  keep_sample({ticks(), one.tid, kSamplePython, 0, 0, count == 0 ? std::uint16_t{0} : stack_of_frames(frames, count),
               static_cast<std::uint32_t>(us < UINT32_MAX ? us : UINT32_MAX)});
  one.sampled_ns = cpu_ns;
}

// The samples of a thread stand for all of its CPU time: each for that since the one before. Where it runs no Python nothing is said of
// that time, and where its frames could not be read it is said that they could not.
void read_frames(Watched& one, std::uint64_t cpu_ns) {
  if (!is_running(one, cpu_ns)) return read_blocked(one);
  PythonFrame frames[kStackPythonFrames];
  unsigned count = 0;
  const PythonReading reading = python_frames_of(one.python, frames, kStackPythonFrames, count);
  if (reading == PythonReading::kGone) one.python.state = 0;
  if (reading == PythonReading::kGone || reading == PythonReading::kNoFrame)
    one.sampled_ns = cpu_ns;
  else
    keep_frames(one, cpu_ns, frames, count);
}

void look_at(Watched& one, unsigned& readings) {
  if (one.entry == 0 || one.python.state == 0 || readings == kReadings) return;
  const ThreadEntry& entry = g_segment.threads[one.entry - 1];
  if (!is_recorded(entry) || entry.start_ticks != one.start_ticks || is_in_wait(entry)) return;
  const std::uint64_t cpu_ns = cpu_ns_of(one.tid);
  ++readings;
  if (cpu_ns <= one.looked_ns) return read_blocked(one);  // it did not run since the last look
  one.looked_ns = cpu_ns;
  read_frames(one, cpu_ns);
}

// The main thread always, the others in turn.
void look_at_all() {
  unsigned readings = 0;
  look_at(g_watched[0], readings);
  for (unsigned i = 0; i < kWatchedThreads - 1; ++i)
    look_at(g_watched[1 + (g_turn + i) % (kWatchedThreads - 1)], readings);
  g_turn = (g_turn + 1) % (kWatchedThreads - 1);
}

// Which threads to look at from now on.
void choose_threads() {
  choose_watched_threads();
  for (const Watched& one : g_watched)
    if (one.entry != 0) want_code_samples(one.tid, one.start_ticks);
}

}  // namespace

std::uint64_t look_at_running(const Round& round) {
  if (!is_on(round) || !python_frames_ready() || g_gate.recording == 0 || g_watched[0].entry == 0) return kNever;
  if (round.now_ns < g_next_look_ns) return g_next_look_ns;
  find_python(round.now_ns);
  look_at_all();
  return g_next_look_ns = read_clock_ns(CLOCK_MONOTONIC) + random_pause();
}

void note_running_samples(const Round& round) {
  if (is_on(round) && !round.last && g_gate.recording != 0)
    choose_threads();
  else if (!is_on(round) || round.last)
    end_code_samples();
  take_code_samples();
  if (round.last || g_options.mode == kTrace) write_samples(g_options.mode == kFlight ? g_limits.flight_ticks : 0);
}

}  // namespace hostprobe::probe
