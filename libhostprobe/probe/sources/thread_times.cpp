// thread_times.cpp: see thread_times.h.
#include "probe/sources/thread_times.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/record/chunk.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/small_file.h"
#include "probe/sources/run_counts.h"
#include "probe/sources/switch_drain.h"
#include "probe/writer/counters/thread_entries.h"

namespace hostprobe::probe {
namespace {

// Not by libc's function, which a fix may stand in front of. More CPUs than the set has room for are not counted.
std::uint32_t cpus_of(std::uint32_t tid) {
  cpu_set_t cpus;
  const long bytes = system_call(SYS_sched_getaffinity, tid, sizeof cpus, word_of_pointer(&cpus));
  return bytes <= 0 ? 0 : static_cast<std::uint32_t>(CPU_COUNT_S(static_cast<std::size_t>(bytes), &cpus));
}

}  // namespace

void read_thread_times(ThreadEntry& entry) {
  if (RunCounts counts; read_run_counts(entry.tid, counts)) {
    entry.cpu_ns = counts.cpu_ns;
    entry.run_delay_ns = counts.delay_ns;
    note_run_count(entry.tid, entry.created_ticks, counts.runs);
  }
  if (const std::uint32_t cpus = cpus_of(entry.tid); cpus != 0) entry.cpus = cpus;
  char path[64], line[96];
  snprintf(path, sizeof path, "/proc/self/task/%u/comm", entry.tid);
  if (read_small_file(path, line, sizeof line)) {
    std::size_t length = strcspn(line, "\n");
    if (length >= sizeof entry.name) length = sizeof entry.name - 1;
    memcpy(entry.name, line, length);
    entry.name[length] = 0;
  }
}

// All threads at most every second, and seldom enough that 20 ms pass per thread: about 10 µs of work each, so at most 0.05 % of a core
// however many there are.
bool thread_times_are_due(std::uint64_t now_ns) {
  HP_OF_PROCESS static std::uint64_t g_next_ns = 0;
  if (now_ns < g_next_ns) return false;
  std::uint64_t pause = living_threads() * std::uint64_t{20000000};
  g_next_ns = now_ns + (pause > 1000000000 ? pause : 1000000000);
  return true;
}

std::uint64_t main_run_delay_ns() {
  const auto main = static_cast<std::uint32_t>(getpid());
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    if (entry.tid != main || !is_live(entry)) continue;
    read_thread_times(entry);
    return entry.run_delay_ns;
  }
  return 0;
}

}  // namespace hostprobe::probe
