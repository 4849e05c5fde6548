// lifecycle.h: whether this process records, and the moments of its life at which that changes.
//
// Room 2 (probe/). Constructor, first record, fork, exit. `begin_recording` (hook.h) is the cold door of every hook.
#pragma once

namespace hostprobe::probe {

// Around a fork whose handlers run; in the child once its page is its own.
void before_fork();
void after_fork_in_parent();
void in_forked_child();

// The trace is open, and the calling thread one of its process and outside of our slow paths: a vfork child has its parent's
// memory, so has one of clone(CLONE_VM), and what they become, their parents do not.
bool trace_is_ours();

// Ends the trace: everything recorded goes to the file, the segment is removed. Called from exit and the exit hooks.
void end_trace();

}  // namespace hostprobe::probe
