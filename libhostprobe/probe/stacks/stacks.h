// stacks.h: call stacks of long waits, sampled.
//
// Room 2 (probe/). On the waiting thread, right after a wait that lasted at least HOSTPROBE_STACK_US returned, at most once per thread
// and HOSTPROBE_STACK_INTERVAL_MS, longer where stacks take longer, or where a thread that runs no Python had the same one eight times and
// more, but for the first one of a place; and of waits an eighth as long where the thread has had none for four intervals. Where it has just got a lock for which others wait, the stack is that of the next wait in the same place instead, before
// that begins (record/wait.h). Native frames come from walk.h, Python frames from python_frames.h; docs/decisions/0008-own-walk.md says
// where none are taken.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// To keep to the budget, only the first stack of each place is taken from now on, or all are again.
void take_first_stacks_only(bool first_only);
void prepare_stacks();  // writer thread
// Whenever the tick rate is known better, or stacks are to be taken more or less often.
void set_stack_ticks(double ticks_per_us, std::uint32_t times_rarer);

}  // namespace hostprobe::probe
