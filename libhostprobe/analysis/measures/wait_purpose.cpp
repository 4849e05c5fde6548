// wait_purpose.cpp: see wait_purpose.h.
#include "wait_purpose.h"

#include <algorithm>
#include <iterator>

namespace hostprobe::analysis {
namespace {

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

bool is_driver_library(std::string_view library) { return library.starts_with("libcuda.so"); }

bool is_python_library(std::string_view library) {
  if (library.starts_with("lib")) library.remove_prefix(3);
  if (!library.starts_with("python")) return false;
  library.remove_prefix(6);
  return library.empty() || (library.front() >= '0' && library.front() <= '9');
}

WaitPurpose purpose_of_caller(const CodePlace& caller, HookRole waiting) {
  // Of CPython 3.8 and later on Linux only take_gil and drop_gil wait for a condition variable; locks are semaphores.
  if (waiting == HookRole::kCondition && is_python_library(caller.library)) return WaitPurpose::kGil;
  if (is_peer_code(caller)) return WaitPurpose::kPeers;
  if (is_driver_library(caller.library)) return WaitPurpose::kGpu;
  return WaitPurpose::kUnknown;
}

WaitPurpose purpose_of_stack(const Trace& trace, const Stack& stack, Symbols& symbols) {
  for (const std::uint64_t frame : stack.native)
    if (is_peer_code(symbols.place(trace, frame))) return WaitPurpose::kPeers;
  // Outer frames decide between a queue and the loader that waits on it.
  WaitPurpose purpose = WaitPurpose::kUnknown;
  for (const std::uint32_t id : stack.python) {
    const std::string_view frame = trace.strings.text(id);
    // What a forked worker has of its parent's stack says nothing of its own waits.
    if (contains(frame, "_launch (popen_fork.py:")) break;
    const WaitPurpose of_frame = purpose_of_python(frame);
    if (of_frame == WaitPurpose::kDataLoader) return of_frame;
    if (purpose == WaitPurpose::kUnknown) purpose = of_frame;
  }
  return purpose;
}

}  // namespace hostprobe::analysis
