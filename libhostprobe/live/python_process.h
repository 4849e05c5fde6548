// python_process.h: the Python interpreter of another process, and the frames of its threads.
//
// Room 3. Read by copying memory, with the layouts of format/python_layout.h. A thread's chain of frames is copied while
// the thread is stopped; what the frames are called is read afterwards, from code objects, which stay.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "format/python_layout.h"
#include "memory_pages.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

struct PythonFrameCopy {
  std::uint64_t code = 0;
  std::uint64_t instruction = 0;
  unsigned owner = 0;
};

class PythonProcess {
 public:
  // Nothing when the process has no interpreter, or one that is not known (docs/reference/python-frames.md).
  static std::optional<PythonProcess> find(pid_t pid, const std::vector<Module>& modules);

  // Which threads the interpreter has now. To be called before a thread is stopped.
  void look_for_threads();
  bool knows(std::uint64_t thread_pointer) const { return threads_.contains(thread_pointer); }
  // Of a thread that the interpreter knows; 0: of none, or its C library is not glibc.
  std::uint64_t thread_pointer_of(std::uint32_t tid) const;
  // To be called while the thread whose thread pointer this is is stopped, or sleeps. Innermost first.
  std::vector<PythonFrameCopy> copy_frames(std::uint64_t thread_pointer);
  // "function (file.py:12)"; "" where the frame has none, or its code is gone.
  std::string text(const PythonFrameCopy& frame);

 private:
  PythonProcess(pid_t pid) : pid_(pid), named_(pid) {}
  bool read_layout(std::uint32_t version, std::uint64_t runtime);
  void look_in(MemoryPages& memory, std::uint64_t interpreter, std::uint64_t first_thread);
  std::string string_at(std::uint64_t address);

  pid_t pid_;
  MemoryPages named_;  // code objects and what belongs to them, of frames that were copied before
  PythonLayout layout_{};
  std::uint64_t runtime_ = 0;
  std::uint64_t code_type_ = 0, text_type_ = 0, bytes_type_ = 0;
  std::map<std::uint64_t, std::uint64_t> threads_;   // thread pointer: thread state
  std::map<std::uint32_t, std::uint64_t> pointers_;  // thread id: thread pointer
};

}  // namespace hostprobe::analysis
