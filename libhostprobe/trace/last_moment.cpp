// last_moment.cpp: see last_moment.h.
#include "last_moment.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace hostprobe::analysis {
namespace {

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
