// python_frames.h: the Python functions a thread is in: one that waits, by itself; one that runs, by the writer.
//
// Room 2 (probe/). For the few waits that carry a call stack (stacks.h), on the waiting thread, right after the
// wait function returned; that thread usually does not hold the GIL. And for samples of running threads (sources/running_samples.h), on the
// writer, without the GIL. Nothing of the interpreter is changed, locked or
// allocated, and nothing of it is trusted: memory is copied by the kernel (safe_memory.h), so a wrong pointer ends the
// stack and never the process. docs/reference/python-frames.md says when this is done, why it is safe, and when it is refused.
#pragma once

#include <link.h>

#include <cstdint>

#include "probe/stacks/python_frame.h"

namespace hostprobe::probe {

// Cold (writer thread). Looks for a Python in the process and says whether its frames can be read. May be called again,
// after more objects were loaded; once true it stays true.
bool python_frames_find();
// The same without the loader's lock, among objects that stay loaded. A child that was forked while its parent had several threads may not
// take that lock, and its parent may not have looked by then.
bool python_frames_find_among(const link_map* first, const link_map* last);

// One relaxed load.
bool python_frames_ready();

// What a reading works in: the stack may be a small one.
struct PythonWork {
  alignas(8) char bytes[2624];
};

// The calling thread's Python frames, innermost first. 0: there are none, or it is not safe now. errno is kept.
unsigned python_frames_read(PythonFrame* out, unsigned most, PythonWork& work);

// Another thread, as the interpreter knows it.
struct PythonThread {
  std::uint32_t tid;
  std::uint64_t state;    // 0: not found
  std::uint64_t pointer;  // what pthread_self() gives there
};

// The writer thread only, this and the next. Looks for those whose state is 0, by their tid.
void python_threads_find(PythonThread* threads, unsigned count);

enum class PythonReading {
  kGone,     // the interpreter ends, or the thread is no longer what it was: look for it again
  kNoFrame,  // it runs no Python function now
  kTorn,     // it changed so much meanwhile that nothing can be said
  kRead,
};
// Frames of a thread that runs meanwhile, innermost first: those that two readings agree on.
PythonReading python_frames_of(const PythonThread& thread, PythonFrame* out, unsigned most, unsigned& count);

// Of a child that was forked by this process, and has executed nothing and runs nothing since, the frames of its only thread. The writer
// thread only.
unsigned python_frames_of_child(int child, PythonFrame* out, unsigned most);

}  // namespace hostprobe::probe
