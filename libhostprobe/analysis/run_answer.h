// run_answer.h: every answer about a run: all its processes, and what could not be read.
//
// Room 3. What the reports print. As many traces are read at a time as there are cores.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/ranks/collective_join.h"
#include "analysis/ranks/host_alignment.h"
#include "analysis/ranks/missing_ranks.h"
#include "analysis/ranks/neighbours.h"
#include "answer/run.h"
#include "one_step.h"
#include "process.h"
#include "run_path.h"
#include "trace/jobs.h"

namespace hostprobe::analysis {

// Called now and then with the bytes read so far and the bytes of all traces; by one thread at a time.
using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

// Which steps are asked about.
struct StepQuery {
  StepChoice choice = StepChoice::kAuto;     // kAuto: as the run was told
  bool slowest = false;                      // only that, beside others of its type on any rank
  std::optional<std::uint64_t> number = {};  // only that one

  bool is_one() const { return slowest || number.has_value(); }
};

// What the answer does not depend on, but the time and memory that it takes.
struct Effort {
  unsigned cores = 0;              // at most so many threads work; 0: one for each CPU
  MemoryBudget* memory = nullptr;  // see memory_budget.h; nullptr: without limit
};

// What is said of all processes together, findings too; the last part of analyse_run().
void tell_of_the_whole(RunAnswer& run);

// Throws std::invalid_argument when there is no such step.
RunAnswer analyse_run(const ChosenJob& chosen, const Progress& progress, const Effort& effort = {},
                      const StepQuery& query = {});

}  // namespace hostprobe::analysis
