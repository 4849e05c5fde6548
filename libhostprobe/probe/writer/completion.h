// completion.h: the trace is brought to completion before an exec, and goes on after one that has failed.
//
// Room 2 (probe/). An exec ends the writer with all other threads, and nobody knows before whether it will succeed. So the
// writer, or without one the thread itself, writes the file to its end as if the process exited, and has the system free the
// shared memory with its last use. After an exec that has failed, what is recorded goes where it went before.
#pragma once

namespace hostprobe::probe {

enum class Completion {
  kNone,      // not in time, or the file does not take everything: all stays as it was
  kByWriter,  // which waits to hear what became of the exec
  kHere,      // there was no writer
};

// On the thread whose exec it is. Waits for the writer, but not for long.
Completion complete_trace();
// The exec has failed.
void continue_trace(Completion completion);

// The writer's side: whether somebody waits for it; making it, and waiting until the exec has failed, or `stop`.
bool completion_is_wanted();
void answer_completion(bool (*stop)());

}  // namespace hostprobe::probe
