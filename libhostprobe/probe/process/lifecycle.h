// lifecycle.h: whether this process records, and the moments of its life at which that changes.
//
// Room 2 (probe/). Constructor, first record, fork, exit. `begin_recording` (hook.h) is the cold door of every hook.
#pragma once

#include <cstdint>

#include "format/file.h"

namespace hostprobe::probe {

// False when hooks must only call through (HOSTPROBE_OFF, set-user-id, a program that is not a target).
bool hooks_enabled();

// The clocks when the library was loaded, and the process this one was forked from (0 = none).
ClockPair load_clock();
std::uint32_t forked_from();

// Around a fork whose handlers run; in the child once its page is its own.
void before_fork();
void after_fork_in_parent();
void in_forked_child();

// Ends the trace: everything recorded goes to the file, the segment is removed. Called from exit and the exit hooks.
void end_trace();

// The trace stays open, its threads may end, but nothing is recorded. By any thread. False: there is no open trace.
bool pause_recording();
bool resume_recording();
// How often that was done, so an odd number in a pause; and when last, or when recording began, CLOCK_REALTIME.
std::uint32_t gate_moves();
std::uint64_t gate_moved_ns();

// The program is about to restrict its own system calls, often on pain of death, and perhaps those of all its threads: from
// then on no call of ours can be known to be harmless, so the trace ends here, complete, and none begins in a child.
void leave_before_seccomp();

// For calls that show a process to be worth another look (pthread_create).
void look_for_target();

// NCCL names its threads only when it is told to by the environment. That may be changed safely as long as there is one
// thread, so this is called before the first one is made; the user's own setting stays.
void have_nccl_threads_named();

}  // namespace hostprobe::probe
