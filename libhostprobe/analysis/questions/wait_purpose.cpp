// wait_purpose.cpp: see wait_purpose.h.
#include "wait_purpose.h"

#include <algorithm>
#include <iterator>

namespace hostprobe::analysis {
namespace {

// Functions that call take_gil; which of them is seen depends on what the interpreter's build exports and inlines.
bool takes_gil(const CodePlace& place) {
  static constexpr std::string_view kFunctions[] = {
      "take_gil",           "PyEval_RestoreThread", "PyEval_AcquireThread",
      "PyEval_AcquireLock", "PyGILState_Ensure",    "_PyThreadState_Attach"};
  return is_python_library(place.library) &&
         std::find(std::begin(kFunctions), std::end(kFunctions), place.function) != std::end(kFunctions);
}

bool is_peer_code(const CodePlace& place) {
  return place.function.find("c10d::") != std::string::npos || place.function.find("gloo::") != std::string::npos ||
         place.library.starts_with("libnccl.so");
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

WaitPurpose purpose_of_python(std::string_view frame) {
  if (contains(frame, "dataloader.py:")) return WaitPurpose::kDataLoader;
  if (contains(frame, "torch/distributed/") || contains(frame, "distributed_c10d.py:")) return WaitPurpose::kPeers;
  if (contains(frame, "(queue.py:") || contains(frame, "/queue.py:") || contains(frame, "queues.py:"))
    return WaitPurpose::kQueue;
  return WaitPurpose::kUnknown;
}

}  // namespace

bool is_python_library(std::string_view library) {
  return library.starts_with("python") || library.starts_with("libpython");
}

bool is_driver_library(std::string_view library) { return library.starts_with("libcuda.so"); }

WaitPurpose purpose_of_caller(const CodePlace& caller, std::string_view waiting_function) {
  if (waiting_function.starts_with("pthread_cond_") && takes_gil(caller)) return WaitPurpose::kGil;
  if (is_peer_code(caller)) return WaitPurpose::kPeers;
  if (is_driver_library(caller.library)) return WaitPurpose::kGpu;
  return WaitPurpose::kUnknown;
}

WaitPurpose purpose_of_stack(const Trace& trace, const Stack& stack, std::string_view waiting_function,
                             Symbols& symbols) {
  // The interpreter lock is taken at most a few frames below a function that is known by name; further out the same
  // names only say that Python is running.
  constexpr std::size_t kGilFrames = 3;
  for (std::size_t i = 0; i < stack.native.size(); ++i) {
    const CodePlace place = symbols.place(trace, stack.native[i]);
    if (i < kGilFrames && waiting_function.starts_with("pthread_cond_") && takes_gil(place)) return WaitPurpose::kGil;
    if (is_peer_code(place)) return WaitPurpose::kPeers;
  }
  // Outer frames decide between a queue and the loader that waits on it.
  WaitPurpose purpose = WaitPurpose::kUnknown;
  for (const std::uint32_t id : stack.python) {
    const WaitPurpose of_frame = purpose_of_python(trace.strings.text(id));
    if (of_frame == WaitPurpose::kDataLoader) return of_frame;
    if (purpose == WaitPurpose::kUnknown) purpose = of_frame;
  }
  return purpose;
}

}  // namespace hostprobe::analysis
