// halts.cpp: see halts.h.
#include "probe/sources/halts.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/record/bell.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/small_file.h"
#include "probe/sources/quota.h"
#include "probe/writer/file/events.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

// A stop that is over before a sleep ends is not seen, so one as long as this always is. docs/decisions/0026 has the cost.
constexpr std::uint64_t kLookNs = 50000000;
// A sleep was late by at most 0.7 ms besides waiting for a CPU, idle and with four busy threads on two CPUs (decision 26).
constexpr std::uint64_t kLateNs = 5000000;
constexpr std::uint64_t kDelayLookNs = 250000000;
constexpr unsigned kMostHalts = 16;  // between two rounds of the writer

struct Look {
  std::uint64_t ns, ticks;
  std::uint64_t suspended_ns;    // in all, of the machine
  std::uint64_t busy_ns;         // in all, of the calling thread: at work, or in the file system
  std::uint64_t program_cpu_ns;  // in all, of the main thread
  std::uint64_t went_to_sleep;   // how often, the calling thread; 0: the kernel does not tell
};

struct Halt {
  std::uint64_t ticks, last_ticks, late_ns;
};

HP_OF_PROCESS Halt g_halts[kMostHalts];
HP_OF_PROCESS unsigned g_halt_count = 0;
HP_OF_PROCESS Look g_last;

// For how long the calling thread has waited for a CPU, as of some time ago.
struct Delay {
  std::uint64_t read_ns, total_ns;
  long tid;  // 0: the kernel does not tell
};
HP_OF_PROCESS Delay g_delay;

// As pthread_getcpuclockid() makes it, of the thread that has the process's id.
clockid_t main_threads_clock() {
  constexpr unsigned kOfThread = 4, kScheduled = 2;
  return static_cast<clockid_t>((~static_cast<unsigned>(getpid()) << 3) | kOfThread | kScheduled);
}

Look look() {
  Look now{};
  now.ns = read_clock_ns(CLOCK_MONOTONIC);
  now.ticks = ticks();
  now.suspended_ns = read_clock_ns(CLOCK_BOOTTIME) - now.ns;
  now.busy_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) + writing_ns();
  now.program_cpu_ns = read_clock_ns(main_threads_clock());
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) == 0) now.went_to_sleep = static_cast<std::uint64_t>(usage.ru_nvcsw);
  return now;
}

Delay read_delay(std::uint64_t now_ns) {
  char line[96];
  if (!read_small_file("/proc/thread-self/schedstat", line, sizeof line)) return {now_ns, 0, 0};
  char* next = nullptr;
  strtoull(line, &next, 10);
  return {now_ns, strtoull(next, nullptr, 10), syscall(SYS_gettid)};
}

// Since it was last read: what was waited for before that only makes the stop look shorter. False: not known.
bool waited_for_cpu(std::uint64_t now_ns, std::uint64_t& ns) {
  const Delay before = g_delay, now = read_delay(now_ns);
  g_delay = now;
  ns = now.total_ns - before.total_ns;
  return now.tid != 0 && now.tid == before.tid && now.total_ns >= before.total_ns;
}

// Who stops a thread that sleeps wakes it first, and puts it to sleep once more. Where the machine itself stood still nobody does. A
// freezer of version 1 stops threads where they sleep, and wakes none of them for it.
bool was_put_to_sleep(const Look& before, const Look& after, std::uint64_t slept_ns) {
  const std::uint64_t own = slept_ns == 0 ? 0 : 1;
  return after.went_to_sleep == 0 || after.went_to_sleep > before.went_to_sleep + own || may_be_in_group_of("freezer");
}

void note_halt(const Look& before, const Look& after, std::uint64_t late_ns) {
  if (g_halt_count < kMostHalts) g_halts[g_halt_count++] = {after.ticks, before.ticks, late_ns};
}

// A stop that was over before the sleep was: only that the thread was put to sleep once more is left of it. Whether it was one shows
// in the switches of all threads.
bool may_have_been_stopped(const Look& before, const Look& after, std::uint64_t slept_ns) {
  return slept_ns != 0 && after.went_to_sleep > before.went_to_sleep + 1;
}

// `slept_ns`: what was asked for in between.
void compare(const Look& before, const Look& after, std::uint64_t slept_ns) {
  constexpr std::uint64_t kClockStepNs = 1000000;  // two clocks are not read at once
  const std::uint64_t passed_ns = after.ns - before.ns, spent_ns = after.busy_ns - before.busy_ns + slept_ns;
  if (passed_ns < spent_ns + kLateNs) {
    if (may_have_been_stopped(before, after, slept_ns)) note_halt(before, after, 0);
    return;
  }
  std::uint64_t delay_ns = 0;
  if (!waited_for_cpu(after.ns, delay_ns) || passed_ns < spent_ns + delay_ns + kLateNs) return;
  const std::uint64_t late_ns = passed_ns - spent_ns - delay_ns;
  if (after.suspended_ns > before.suspended_ns + kClockStepNs) return;
  // While the process is stopped none of its threads runs.
  if (after.program_cpu_ns - before.program_cpu_ns > passed_ns - late_ns + kLateNs) return;
  if (!was_put_to_sleep(before, after, slept_ns)) return;
  note_halt(before, after, late_ns);
}

}  // namespace

void sleep_and_look(std::uint32_t rung, std::uint64_t end_ns, bool (*stays_awake)()) {
  Look before = look();
  if (g_last.ns != 0 && g_delay.tid == syscall(SYS_gettid)) compare(g_last, before, 0);
  if (before.ns >= g_delay.read_ns + kDelayLookNs) g_delay = read_delay(before.ns);
  while (before.ns < end_ns && bell_count() == rung && !stays_awake()) {
    const std::uint64_t asked_ns = end_ns - before.ns < kLookNs ? end_ns - before.ns : kLookNs;
    sleep_by_bell(rung, static_cast<long>(asked_ns), stays_awake);
    const Look after = look();
    compare(before, after, asked_ns);
    before = after;
  }
  g_last = before;
}

void note_halts(const Round&) {
  for (unsigned i = 0; i < g_halt_count; ++i) {
    const Halt& halt = g_halts[i];
    note_event_at(halt.ticks, kEventHalted, 0, halt.last_ticks, halt.late_ns, "");
  }
  g_halt_count = 0;
}

}  // namespace hostprobe::probe
