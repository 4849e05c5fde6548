// thread_slack.h: the timer slack of a thread, which only the thread itself may set, and does before it waits with a time limit.
//
// Room 2 (probe/). One system call in a wait that blocks; no state of a thread's own. A thread whose slack is neither what all had nor
// what we set has it from the program, and keeps it.
#pragma once

namespace hostprobe::probe {

// As recording begins: what threads have that never set theirs.
void note_first_slack();
unsigned long first_slack();

// From now on threads set theirs from `base` to `ours`; or, with `on` false, back.
void want_slack(bool on, unsigned long base, unsigned long ours);
void set_own_slack();
// The calling thread is the first of a forked child, or is about to become another program.
void leave_own_slack();
// How many threads have ours, those included that have ended with it.
unsigned threads_with_slack();

}  // namespace hostprobe::probe
