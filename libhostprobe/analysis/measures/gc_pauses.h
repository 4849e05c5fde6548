// gc_pauses.h: how often and how long Python's garbage collector stood in the way, by generation.
//
// Room 3. A process whose interpreter told nothing (no Python, or none that could be asked) has no answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "answer/python.h"
#include "model/steps.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

class GcPauses {
 public:
  GcPauses(const Timeline& timeline, const StepPlan& plan);
  void add(const Event& event) {
    if (event.is(kCollectsGarbage) && !event.below_limit) add_pause(event);
  }
  void merge(const GcPauses& other);
  std::optional<GcAnswer> finish() const;

 private:
  void add_pause(const Event& event);

  bool is_told_;  // the interpreter was asked, and answered
  bool has_steps_;
  Window span_;
  Window later_half_;
  GcAnswer answer_;
};

}  // namespace hostprobe::analysis
