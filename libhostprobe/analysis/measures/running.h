// running.h: what the CPU time of each thread went into, by samples of it: Python functions, and libraries and their functions.
//
// Room 3. Two views of the same time. A sample that falls into a collection of garbage on its thread counts as that: the function that was
// interrupted is not what runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/samples.h"
#include "model/steps.h"
#include "model/timeline.h"
#include "model/window.h"

namespace hostprobe::analysis {

struct RunningRow {
  std::string function;  // "" = no symbol covers the code
  std::string file;      // of Python
  unsigned line = 0;     // the one that most samples of the function are at
  std::string library;   // of code; "kernel": in the kernel
  std::string caller;    // of Python: whoever called it most, in another file
  double ns = 0;
  double step_ns = 0;  // of the mean step
  std::uint64_t samples = 0;
};

struct RunningAnswer {
  ThreadKey thread{};
  std::vector<RunningRow> python, code;  // heaviest first
  double python_ns = 0, code_ns = 0;     // that samples stand for
  std::uint64_t python_samples = 0, code_samples = 0;
  std::uint64_t torn = 0;   // of the Python samples: the frames changed while they were read
  std::uint64_t steps = 0;  // that lie whole within the time of the samples; 0: step_ns is not known
};

inline constexpr const char* kCollecting = "garbage collection";
inline constexpr const char* kInKernel = "kernel";

class RunningTime {
 public:
  explicit RunningTime(const Timeline& timeline) : timeline_(&timeline) {}
  void add(const Event& event) {
    if (event.type == EventType::kCall && event.is(kCollectsGarbage) && event.duration_ns >= kLongNs)
      collections_[event.track->key()].push_back({event.begin_ns, event.end_ns});
  }
  void merge(RunningTime&& other);
  // By CPU time. `steps` in order.
  std::vector<RunningAnswer> finish(Symbols& symbols, const Window& window, const std::vector<Step>& steps) const;

 private:
  static constexpr double kLongNs = 100'000;  // shorter ones hold hardly a sample

  const Timeline* timeline_;
  std::map<ThreadKey, std::vector<Window>> collections_;  // by begin
};

}  // namespace hostprobe::analysis
