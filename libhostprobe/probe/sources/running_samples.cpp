// running_samples.cpp: see running_samples.h.
//
// Price of a look at one Python thread in a virtual machine: docs/decisions/0025-running-samples.md. A thread that did not run since the
// last look costs what it takes to see where it is blocked, one in a wait that we know of nothing; while none uses CPU nobody looks.
#include "probe/sources/running_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/gate.h"
#include "probe/record/hook_row.h"
#include "probe/record/limits.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/safe_memory.h"
#include "probe/runtime/small_file.h"
#include "probe/stacks/python_frames.h"
#include "probe/stacks/stacks.h"
#include "probe/control/budget.h"
#include "probe/sources/code_samples.h"
#include "probe/writer/file/trace_file.h"
#include "probe/sources/sample_rows.h"
#include "probe/sources/launch_samples.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kPassedOver = 8;  // looks: an eighth of the samples is better than none
constexpr unsigned kReadings = 4;    // of frames, at a look
constexpr std::uint32_t kEntriesARound = 256;
constexpr std::uint64_t kRunsNs =
    2500000;  // in a quarter of a second: one that uses a hundredth of a CPU is worth a look
constexpr std::uint64_t kFindAgainNs = 2000000000;

struct Watched {
  std::uint32_t entry;  // plus 1; 0: none
  std::uint32_t tid;
  std::uint64_t start_ticks;
  std::uint64_t used_ns;     // in the last round
  std::uint64_t looked_ns;   // CPU time at the last look
  std::uint64_t sampled_ns;  // CPU time up to which samples stand for it
  std::uint64_t find_ns;     // when its Python is looked for again
  PythonThread python;
  unsigned passed_over;  // looks in a row at which it had no CPU
};
HP_OF_RECORDING Watched g_watched[kWatchedThreads];  // the main thread, then the one that used most, and so on
HP_KEPT_BY_CHILDREN std::uint64_t
    g_cpu_ns[kThreads];  // of each thread entry, a round ago; another process's do no harm
HP_OF_RECORDING std::uint32_t g_next_entry = 0;
HP_OF_RECORDING std::uint64_t g_next_look_ns = 0;
HP_OF_RECORDING std::uint64_t g_random = 0;
HP_OF_RECORDING unsigned g_turn = 0;

bool is_on() {
  return g_options.samples != 0 && g_options.mode != kMonitor && detail_shed() < kShedShortWaits &&
         !address_space_is_limited();
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

// 0: it has ended.
std::uint64_t cpu_ns_of(std::uint32_t tid) {
  const auto clock = static_cast<clockid_t>((~tid << 3) | 6);  // CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED
  timespec t{};
  if (clock_gettime(clock, &t) != 0) return 0;
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

bool is_live(const ThreadEntry& entry) {
  return __atomic_load_n(&entry.state, __ATOMIC_ACQUIRE) == kThreadLive && entry.tid != 0;
}

// One that a record will tell of. A write leaves one only where it went to a file.
bool is_in_wait(const ThreadEntry& entry) {
  const std::uint64_t key = __atomic_load_n(&entry.open.key, __ATOMIC_RELAXED);
  return key != 0 && role_of(sum_hook(key)) != HookRole::kWrite;
}

// Not by the program's leave: a page of a mapped file is not there, or a system call that has no hook waits. The kernel says where it is to go on,
// and whether it is in a call: "-1" and the stack pointer and place, or the call's number with six arguments and these two; of one that runs "running".
bool blocked_place(std::uint32_t tid, std::uint16_t& call, std::uint64_t& address) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
  if (!read_small_file(path, line, sizeof line)) return false;
  char* end = line;
  const long number = strtol(line, &end, 10);
  const char* place = strrchr(line, ' ');
  if (end == line || place == nullptr || number < -1 || number >= UINT16_MAX) return false;
  call = static_cast<std::uint16_t>(number + 1);
  address = strtoull(place + 1, nullptr, 16);
  return true;
}

// Whether it would run if it had a CPU.
bool is_runnable(std::uint32_t tid) {
  char path[64], line[160];
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
  if (!read_small_file(path, line, sizeof line)) return false;
  const char* name_end = strrchr(line, ')');
  return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'R';
}

// ---- which threads ----

Watched* watched_of(const Watched* all, const ThreadEntry& entry) {
  for (unsigned i = 0; i < kWatchedThreads; ++i)
    if (all[i].entry != 0 && all[i].tid == entry.tid && all[i].start_ticks == entry.start_ticks)
      return const_cast<Watched*>(&all[i]);
  return nullptr;
}

// Into its place among those that used most, behind the main thread.
void insert(Watched* all, const Watched& one, std::uint32_t main_tid) {
  for (unsigned i = 0; i < kWatchedThreads; ++i) {
    const bool is_before = all[i].tid == main_tid || (one.tid != main_tid && all[i].used_ns >= one.used_ns);
    if (all[i].entry != 0 && is_before) continue;
    memmove(all + i + 1, all + i, (kWatchedThreads - 1 - i) * sizeof *all);
    all[i] = one;
    return;
  }
}

void consider(std::uint32_t index, const Watched* before, Watched* after, std::uint32_t main_tid) {
  const ThreadEntry& entry = g_segment.threads[index];
  if (!is_live(entry) || entry.tid == static_cast<std::uint32_t>(own_thread())) return;
  const std::uint64_t now_ns = cpu_ns_of(entry.tid), then_ns = g_cpu_ns[index];
  g_cpu_ns[index] = now_ns;
  if (now_ns < then_ns + kRunsNs) return;
  const std::uint64_t since_ns =
      then_ns == 0 ? now_ns : then_ns;  // of what a thread did before it was known nothing can be told
  Watched one{index + 1, entry.tid, entry.start_ticks, now_ns - then_ns, now_ns, since_ns, 0, {entry.tid, 0, 0}, 0};
  if (const Watched* same = watched_of(before, entry)) {
    one = *same;
    one.used_ns = now_ns - then_ns;
  }
  insert(after, one, main_tid);
}

void choose_threads() {
  Watched chosen[kWatchedThreads] = {};
  const std::uint32_t all = threads_used(), most = all < kEntriesARound ? all : kEntriesARound;
  const auto main_tid = static_cast<std::uint32_t>(getpid());
  for (std::uint32_t i = 0; i < most; ++i) consider((g_next_entry + i) % all, g_watched, chosen, main_tid);
  g_next_entry = all <= kEntriesARound ? 0 : (g_next_entry + most) % all;
  memcpy(g_watched, chosen, sizeof g_watched);
  for (const Watched& one : g_watched)
    if (one.entry != 0) want_code_samples(one.tid, one.start_ticks);
}

// ---- what they do ----

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

// Asked before its frames are read: one that waits by then was running all the same, and to leave it out would leave out what comes
// before waits. One that was taken off its CPU, often by us, stands where the kernel takes threads off: behind system calls. It is passed
// over, unless it is never found otherwise: all CPUs are busy, or there is only one.
bool is_running(Watched& one, std::uint64_t& cpu_ns) {
  const std::uint64_t again_ns = cpu_ns_of(one.tid);
  if (again_ns <= cpu_ns) {
    if (again_ns == 0 || !is_runnable(one.tid)) return false;
    if (g_header.cpus != 1 && ++one.passed_over < kPassedOver) return false;
    one.passed_over = 0;
    return true;
  }
  one.passed_over = 0;
  cpu_ns = again_ns;
  return true;
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
  if (!is_live(entry) || entry.start_ticks != one.start_ticks || is_in_wait(entry)) return;
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

// When to look again; kNever where frames cannot be read.
std::uint64_t look_at_running(std::uint64_t now_ns) {
  if (!is_on() || !python_frames_ready() || g_gate.recording == 0 || g_watched[0].entry == 0) return kNever;
  if (now_ns < g_next_look_ns) return g_next_look_ns;
  find_python(now_ns);
  look_at_all();
  return g_next_look_ns = read_clock_ns(CLOCK_MONOTONIC) + random_pause();
}

}  // namespace

std::uint32_t watched_thread(unsigned number) { return g_watched[number].entry == 0 ? 0 : g_watched[number].tid; }

std::uint64_t take_samples(std::uint64_t now_ns) {
  const std::uint64_t launches_ns = arm_samples(now_ns), running_ns = look_at_running(now_ns);
  return launches_ns < running_ns ? launches_ns : running_ns;
}

void write_running_samples(bool last) {
  if (is_on() && !last && g_gate.recording != 0)
    choose_threads();
  else if (!is_on() || last)
    end_code_samples();
  take_code_samples();
  if (last || g_options.mode == kTrace) write_samples(g_options.mode == kFlight ? g_limits.flight_ticks : 0);
}

}  // namespace hostprobe::probe
