// Which of the node's threads get a CPU first, where programs and their neighbours want more CPUs than there are. A real
// device computes whatever the CPUs do, so the threads that stand for one must not queue behind busy ones: else all that a
// neighbour takes from them looks like a slow device. No thread of the program's is touched.
#pragma once

namespace simnode {

// For threads that are the device. Short slices are open to everybody and, since Linux 6.12, let a thread that wakes up
// run before those with longer ones; the priority (nice -20) needs CAP_SYS_NICE or a limit that allows it. Not a real-time
// class: a kernel's host function that computes for long would then keep its CPU from everybody.
void run_as_device();

// For NCCL's threads: they are the host's, and lose what a neighbour takes from them. Only the slice is short, so that a
// yield of theirs gives away as little as on a machine with a CPU for each of them.
void run_in_short_slices();

// While it lives, the calling device thread runs with the program's priority: what follows is the program's own code.
class ProgramPriority {
 public:
  ProgramPriority();
  ~ProgramPriority();
  ProgramPriority(const ProgramPriority&) = delete;
  ProgramPriority& operator=(const ProgramPriority&) = delete;
};

}  // namespace simnode
