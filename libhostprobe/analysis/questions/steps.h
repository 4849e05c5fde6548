// steps.h: training steps that the program marked (hostprobe_step, through C or Python).
//
// Room 3. A mark lives on one thread, so the thread with the most of them speaks for the process.
#pragma once

#include <map>

#include "analysis/timeline/timeline.h"

namespace hostprobe::analysis {

class Steps {
 public:
  explicit Steps(const Timeline&) {}
  void add(const Event& event) {
    if (event.is(kMarksStep) && !event.counted && !event.below_limit) add_step(event);
  }
  void merge(const Steps& other);
  // From begin to end of a step; empty where nothing was marked.
  Histogram finish() const;

 private:
  void add_step(const Event& event);

  std::map<ThreadKey, Histogram> threads_;
};

}  // namespace hostprobe::analysis
