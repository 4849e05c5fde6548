// python_frames.h: the Python functions a waiting thread is in.
//
// Room 2 (probe/). Called for the few waits that carry a call stack (stacks.h), on the waiting thread, right after the
// wait function returned; that thread usually does not hold the GIL. Nothing of the interpreter is changed, locked or
// allocated, and nothing of it is trusted: memory is copied by the kernel (safe_memory.h), so a wrong pointer ends the
// stack and never the process. docs/python-frames.md says when this is done, why it is safe, and when it is refused.
#pragma once

namespace hostprobe::probe {

inline constexpr unsigned kPythonFrameBytes = 160;

struct PythonFrame {
  const void* code;              // the code object: equal for calls of the same function
  unsigned line;                 // 0: the interpreter has none for this instruction
  char text[kPythonFrameBytes];  // UTF-8, ends in 0: "Queue.get (queue.py:180)"; a name too long loses its beginning
};

// Cold (writer thread). Looks for a Python in the process and says whether its frames can be read. May be called again,
// after more objects were loaded; once true it stays true.
bool python_frames_find();

// One relaxed load.
bool python_frames_ready();

// What a reading works in: the stack may be a small one.
struct PythonWork {
  alignas(8) char bytes[2624];
};

// The calling thread's Python frames, innermost first. 0: there are none, or it is not safe now. errno is kept.
unsigned python_frames_read(PythonFrame* out, unsigned most, PythonWork& work);

}  // namespace hostprobe::probe
