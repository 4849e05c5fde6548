// running.h: what the CPU time of each thread went into, by samples of it: Python functions, and libraries and their functions.
//
// Room 3. Two views of the same time. A sample that falls into a collection of garbage on its thread counts as that: the function that was
// interrupted is not what runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "answer/thread.h"
#include "model/samples.h"
#include "model/steps.h"
#include "model/timeline.h"
#include "model/window.h"

namespace hostprobe::analysis {

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
