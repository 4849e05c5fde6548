// python_frame.h: one Python function that a thread is in.
//
// Room 2 (probe/). In fixed memory: found by python_frames.h, named by python_text.h.
#pragma once

namespace hostprobe::probe {

inline constexpr unsigned kPythonFrameBytes = 160;

struct PythonFrame {
  const void* code;              // the code object: equal for calls of the same function
  unsigned line;                 // 0: the interpreter has none for this instruction
  char text[kPythonFrameBytes];  // UTF-8, ends in 0: "Queue.get (queue.py:180)"; a name too long loses its beginning
};

}  // namespace hostprobe::probe
