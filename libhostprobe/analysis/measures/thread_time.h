// thread_time.h: what a thread did with its life, where each instant counts once: running, preempted, waiting, woken but
// not yet running, unexplained. They sum to its wall time.
//
// Room 3. Where the thread's switches are recorded, the preempted time is known, and what the kernel's total of runnable time has
// beyond it is behind wakes. Else, of those totals alone, how much was preemption is told where the waits leave no doubt, and
// otherwise not at all.
#pragma once

#include <optional>

#include "answer/thread.h"

namespace hostprobe::analysis {

// Of one thread, in blocking calls.
struct Blocked {
  double ms = 0;
  double woken_ms = 0;      // of that: calls whose waker is known
  double wake_ms = 0;       // of that: behind the post
  double run_queue_ms = 0;  // of that: until it had a CPU again, as far as switches are recorded
};

// `measured`: wall, CPU and run delay; with `from_switches` the preempted time too. The answer's wall is longer where the thread ran before it was first seen.
ThreadTime attribute_time(const ThreadTime& measured, const Blocked& blocked);

}  // namespace hostprobe::analysis
