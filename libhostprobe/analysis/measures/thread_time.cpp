// thread_time.cpp: see thread_time.h.
#include "thread_time.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

// How far apart the bounds of the preempted time may lie for a figure between them: of wall time, or of the figure.
constexpr double kSureOfWall = 0.01;
constexpr double kSureOfItself = 0.2;

struct Range {
  double low = 0;
  double high = 0;
};

// Delay that is not behind a wake with a known waker lies in other waits, or it took the thread off its CPU outside of
// all waits, where only what was not spent running has room for it.
Range preempted(const ThreadTime& time, const Blocked& blocked, double delay_ms) {
  Range range;
  range.high = std::clamp(time.wall_ms - blocked.ms - time.cpu_ms.value_or(0), 0.0, delay_ms);
  range.low = std::clamp(delay_ms - std::max(0.0, blocked.ms - blocked.woken_ms), 0.0, range.high);
  return range;
}

bool is_sure(const Range& range, double wall_ms) {
  return range.high - range.low <= std::max(kSureOfWall * wall_ms, kSureOfItself * range.high);
}

void split_delay(ThreadTime& time, const Blocked& blocked) {
  const double delay_ms = *time.run_delay_ms;
  const double behind_wakes_ms = std::min(blocked.wake_ms, blocked.ms);
  const double rest_ms = std::max(0.0, delay_ms - behind_wakes_ms);
  const Range range = preempted(time, blocked, rest_ms);
  if (is_sure(range, time.wall_ms)) time.preempted_ms = 0.5 * (range.low + range.high);
  time.run_queue_ms = std::min(blocked.ms, behind_wakes_ms + rest_ms - time.preempted_ms.value_or(range.high));
}

// Of the time behind wakes, what must lie in blocking calls that are known: the thread sleeps elsewhere too, where nothing is hooked.
double run_queue_in_waits(const ThreadTime& time, const Blocked& blocked) {
  const double all_ms = time.run_queue_ms.value_or(0);
  const double off_ms = time.wall_ms - time.cpu_ms.value_or(0) - time.preempted_ms.value_or(0);
  return std::max(std::min(blocked.run_queue_ms, all_ms), all_ms - std::max(0.0, off_ms - blocked.ms));
}

}  // namespace

ThreadTime attribute_time(const ThreadTime& measured, const Blocked& blocked) {
  ThreadTime time = measured;
  if (time.wall_ms <= 0) {
    time.wait_ms = blocked.ms;
    return time;
  }
  // Switches and the total are read at different moments.
  if (time.preempted_ms && time.run_delay_ms) time.preempted_ms = std::min(*time.preempted_ms, *time.run_delay_ms);
  time.wall_ms = std::max(time.wall_ms, time.cpu_ms.value_or(0) + time.run_delay_ms.value_or(0));
  if (time.from_switches && !time.run_delay_ms) time.run_queue_ms = blocked.run_queue_ms;
  if (time.from_switches && time.run_delay_ms)
    time.run_queue_ms = std::max(0.0, *time.run_delay_ms - time.preempted_ms.value_or(0));
  Blocked within = blocked;
  within.ms = std::min(blocked.ms, time.wall_ms);
  if (time.run_delay_ms && !time.from_switches)
    split_delay(time, within);
  else if (within.wake_ms > 0 && !time.from_switches)
    time.run_queue_ms = std::min(within.wake_ms, within.ms);
  // The kernel's totals are exact, so what does not fit beside them is taken from the waits: they ran for a part of it.
  double left_ms = time.wall_ms;
  const auto take = [&left_ms](double ms) {
    const double taken = std::clamp(ms, 0.0, left_ms);
    left_ms -= taken;
    return taken;
  };
  take(time.cpu_ms.value_or(0));
  if (time.preempted_ms) time.preempted_ms = take(*time.preempted_ms);
  if (time.run_queue_ms) time.run_queue_ms = take(*time.run_queue_ms);
  time.wait_ms =
      take(within.ms - (time.from_switches ? run_queue_in_waits(time, within) : time.run_queue_ms.value_or(0)));
  time.unexplained_ms = left_ms;
  return time;
}

}  // namespace hostprobe::analysis
