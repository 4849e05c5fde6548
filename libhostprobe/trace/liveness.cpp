// liveness.cpp: see liveness.h. A process id alone proves nothing: the kernel gives it away again, so the start time in
// /proc/PID/stat is compared with the trace's own; and one that has begun another program (exec) is still there.
#include "liveness.h"

#include <signal.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "trace.h"

#include "clock.h"

namespace hostprobe::analysis {
namespace {

struct ProcStat {
  char state = 0;
  double start_s = 0;  // since boot
};

bool read_proc_stat(std::uint32_t pid, ProcStat& stat) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  const auto after_name = text.rfind(')');  // the name may hold blanks and parentheses
  if (after_name == std::string::npos) return false;
  std::istringstream fields(text.substr(after_name + 1));
  std::string skipped;
  fields >> stat.state;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  std::uint64_t start_jiffies = 0;
  fields >> start_jiffies;
  stat.start_s = static_cast<double>(start_jiffies) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<bool>(fields);
}

// Process start times count suspended time, CLOCK_MONOTONIC does not.
double suspended_s() {
  timespec boot{}, monotonic{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  return static_cast<double>(boot.tv_sec - monotonic.tv_sec) +
         1e-9 * static_cast<double>(boot.tv_nsec - monotonic.tv_nsec);
}

// The process has begun another program: nobody is in the shared memory any more, although the process is there.
bool segment_was_left(const FileHeader& header) {
  shmid_ds status{};
  if (header.segment_id < 0 || shmctl(header.segment_id, IPC_STAT, &status) != 0 || status.shm_nattch != 0 ||
      status.shm_segsz < sizeof(SegmentHeader))
    return false;
  void* address = shmat(header.segment_id, nullptr, SHM_RDONLY);
  if (address == reinterpret_cast<void*>(-1)) return false;
  const auto& segment = *static_cast<const SegmentHeader*>(address);
  const bool same = segment.magic == kSegmentMagic && segment.cookie == header.cookie;
  shmdt(address);
  return same;
}

constexpr double kMostBehindClockNs = 24 * 3600e9;  // more is damage

// Ticks at a moment behind the last clock reading, by the rate of the whole trace.
void move_to(Trace& trace, std::uint64_t monotonic_ns) {
  const double tick_ns = trace.clock.length_ns(1);
  if (monotonic_ns <= trace.last.monotonic_ns || tick_ns <= 0) return;
  const std::uint64_t later_ns = monotonic_ns - trace.last.monotonic_ns;
  trace.last.ticks += static_cast<std::uint64_t>(std::llround(static_cast<double>(later_ns) / tick_ns));
  trace.last.monotonic_ns += later_ns;
  trace.last.realtime_ns += later_ns;
}

// The kernel's totals only grow; smaller ones are another thread's that has got the same id.
void ask_kernel(std::uint32_t pid, Thread& thread) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread.key.tid) + "/schedstat");
  std::uint64_t cpu_ns = 0, run_delay_ns = 0;
  if (!(file >> cpu_ns >> run_delay_ns) || cpu_ns < thread.entry.cpu_ns || run_delay_ns < thread.entry.run_delay_ns)
    return;
  thread.entry.cpu_ns = cpu_ns;
  thread.entry.run_delay_ns = run_delay_ns;
}

std::uint64_t last_end_ticks(const Thread& thread) {
  std::uint64_t last = std::max({thread.entry.start_ticks, thread.entry.end_ticks, thread.entry.open.begin_ticks});
  if (thread.slices.empty()) return last;
  for (const Record& record : thread.slices.back().records()) last = std::max(last, record.end_ticks);
  return last;
}

}  // namespace

Liveness process_liveness(const FileHeader& header) {
  const std::string boot_id(header.boot_id, strnlen(header.boot_id, sizeof(header.boot_id)));
  if (boot_id != current_boot_id()) return Liveness::kElsewhere;
  if (kill(static_cast<pid_t>(header.pid), 0) != 0 && errno == ESRCH) return Liveness::kDead;
  ProcStat stat;
  if (!read_proc_stat(header.pid, stat)) return Liveness::kDead;
  if (stat.state == 'Z' || stat.state == 'X') return Liveness::kDead;
  // The trace starts after its process; one second covers the granularity of both clocks.
  const double trace_start_s = 1e-9 * static_cast<double>(header.start.monotonic_ns) + suspended_s();
  if (stat.start_s > trace_start_s + 1.0 || segment_was_left(header)) return Liveness::kDead;
  return Liveness::kLives;
}

void find_last_moment(Trace& trace) {
  if (trace.alive) {
    move_to(trace, read_clocks_now().monotonic_ns);
    for (auto& [key, thread] : trace.threads)
      if (thread.entry.state == kThreadLive && !is_stream(key)) ask_kernel(trace.header.pid, thread);
    return;
  }
  std::uint64_t last = trace.last.ticks;
  for (const auto& [key, thread] : trace.threads)
    if (!is_stream(key)) last = std::max(last, last_end_ticks(thread));
  if (last <= trace.last.ticks || trace.clock.span_ns(trace.last.ticks, last) > kMostBehindClockNs) return;
  move_to(trace, trace.clock.monotonic_ns(last));
  trace.last.ticks = last;
}

}  // namespace hostprobe::analysis
