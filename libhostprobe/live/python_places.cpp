// python_places.cpp: see python_places.h.
#include "python_places.h"

#include <algorithm>
#include <stdexcept>

#include "analysis/measures/waits.h"
#include "memory_map.h"
#include "python_process.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLongMs = 1000;
constexpr std::size_t kMostProcesses = 64;  // a report is not to take longer for a job of thousands

bool is_long(const ThreadAnswer& thread) { return thread.open_wait && thread.open_wait->ms >= kLongMs; }

std::string place_of(PythonProcess& python, std::uint64_t pointer) {
  std::vector<std::string> frames;
  for (const PythonFrameCopy& frame : python.copy_frames(pointer)) frames.push_back(python.text(frame));
  return telling_frame(std::vector<std::string_view>(frames.begin(), frames.end()));
}

void look_into(ProcessAnswer& process) {
  const auto pid = static_cast<pid_t>(process.pid);
  std::optional<PythonProcess> python = PythonProcess::find(pid, modules_of_process(pid));
  if (!python) return;
  python->look_for_threads();
  for (ThreadAnswer& thread : process.threads) {
    const std::uint64_t pointer = python->thread_pointer_of(thread.tid);
    if (is_long(thread) && pointer != 0) thread.open_wait->python = place_of(*python, pointer);
  }
}

}  // namespace

void add_python_places(RunAnswer& run) {
  std::size_t looked = 0;
  for (ProcessAnswer& process : run.processes) {
    if (process.end != EndState::kRunning || std::none_of(process.threads.begin(), process.threads.end(), is_long))
      continue;
    if (looked++ == kMostProcesses) break;
    try {
      look_into(process);
    } catch (const std::runtime_error&) {
      // It has ended, or we may not look.
    }
  }
}

}  // namespace hostprobe::analysis
