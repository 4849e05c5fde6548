// gc_pauses.h: how often and how long Python's garbage collector stood in the way, by generation.
//
// Room 3. A process whose interpreter told nothing (no Python, or none that could be asked) has no answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "answer/python.h"
#include "model/steps.h"
#include "model/timeline.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {

class GcPauses {
 public:
  GcPauses(const Timeline& timeline, const StepPlan& plan);
  void add(const Event& event) {
    if (event.is(kCollectsGarbage) && !event.below_limit) add_pause(event);
  }
  void merge(const GcPauses& other);
  std::optional<GcAnswer> finish(Symbols& symbols) const;

 private:
  // Of an older generation than the youngest.
  struct Collection {
    double at_ns, ns;
    std::uint64_t generation, blocks;  // 0: not counted
    std::uint16_t stack;
    bool requested;
  };
  void add_pause(const Event& event);
  void add_placed(const Event& event);
  static LivingBlocks living_blocks(const std::vector<Collection>& collections);
  static void tell_pauses(const std::vector<Collection>& collections, GcWork& work);
  void tell_stack(const std::vector<Collection>& collections, GcWork& work, Symbols& symbols) const;

  const Trace& trace_;
  bool is_told_;  // the interpreter was asked, and answered
  bool has_steps_;
  Window span_;
  Window later_half_;
  GcAnswer answer_;
  std::vector<Collection> collections_;
};

}  // namespace hostprobe::analysis
