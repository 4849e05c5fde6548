// run_query.h: how a run is asked about: which of its steps, with how much time and memory, and who hears how far it is.
//
// Room 3.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "answer/step.h"

namespace hostprobe::analysis {

class MemoryBudget;
struct RunAnswer;

// Called now and then with the bytes read so far and the bytes of all traces; by one thread at a time.
using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

// Adds what only a look at the processes that still run can tell, before anything is concluded about the whole.
using LivingLook = std::function<void(RunAnswer& run)>;

// Which steps are asked about.
struct StepQuery {
  StepChoice choice = StepChoice::kAuto;     // kAuto: as the run was told
  bool slowest = false;                      // only that, beside others of its type on any rank
  std::optional<std::uint64_t> number = {};  // only that one

  bool is_one() const { return slowest || number.has_value(); }
};

// What the time and memory that an answer takes depend on.
struct Effort {
  unsigned cores = 0;              // at most so many threads work; 0: one for each CPU
  MemoryBudget* memory = nullptr;  // see memory_budget.h; nullptr: without limit
  bool stacks = false;             // flame graphs too (stack_trees.h)
};

}  // namespace hostprobe::analysis
