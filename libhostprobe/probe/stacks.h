// stacks.h: call stacks of long waits, sampled.
//
// Room 2 (probe/). On the waiting thread, right after a wait that lasted at least HOSTPROBE_STACK_US returned, at most
// once per thread and HOSTPROBE_STACK_INTERVAL_MS. Native frames come from libgcc's unwinder, opened at run time by the
// writer thread (docs/decisions/0003-unwinder.md says why not libunwind); Python frames from python_frames.h.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

extern constinit std::uint64_t g_stack_ticks;  // a wait this long may carry a stack; all ones: none does

// Entry of the stack table plus 1, or 0.
std::uint16_t sample_stack(std::uint64_t now_ticks);

void open_unwinder();                       // writer thread
void set_stack_ticks(double ticks_per_us);  // whenever the tick rate is known better
void forget_stacks();                       // child of a fork

}  // namespace hostprobe::probe
