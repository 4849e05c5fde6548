// weighted_stacks.h: what the threads of a run did with their time, as stacks: running, by samples, and waiting, by calls that
// blocked.
//
// Room 3. Added up by thread, state, step and stack, so memory grows with the number of different stacks and not with the trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "export/export_form.h"
#include "model/thread_stacks.h"

namespace hostprobe::analysis {

struct StackProcess {
  std::string title;  // "rank 3", "python3 pid 77"
  int rank = -1;
  std::uint32_t pid = 0;
  std::string host;
};

struct StackThread {
  std::size_t process = 0;
  std::string title;  // "main (python3)"
  std::string role;
  std::uint32_t tid = 0;
};

inline constexpr std::int64_t kNoStep = -1;

struct StackKey {
  std::size_t thread = 0;
  ThreadState state = ThreadState::kRunning;
  std::int64_t step = kNoStep;
  std::vector<std::uint32_t> frames;  // names, the outermost first

  auto operator<=>(const StackKey&) const = default;
};

struct StackWeight {
  double ns = 0;
  std::uint64_t count = 0;  // samples, or calls
};

struct WeightedStacks {
  std::vector<std::string> names;
  std::vector<StackProcess> processes;
  std::vector<StackThread> threads;
  std::map<StackKey, StackWeight> stacks;
  std::vector<std::string> problems;  // what could not be read, one line each
};

// `by_step`: each step has stacks of its own; else no key names one.
WeightedStacks collect_stacks(const ChosenJob& run, const RunSteps& steps, bool by_step,
                              const ExportProgress& progress);

// Frames from the process on: process, thread, with `steps.as_frames` the step, state, and those of the stack.
std::vector<std::string> frames_from_root(const WeightedStacks& all, const StackKey& key, bool step_as_frame);

}  // namespace hostprobe::analysis
