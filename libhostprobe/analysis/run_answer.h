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
#include "one_step.h"
#include "process.h"
#include "run_path.h"
#include "trace/jobs.h"

namespace hostprobe::analysis {

struct Unreadable {
  std::string path;
  std::string what;
  std::uint64_t offset = 0;
};

struct RunAnswer {
  std::string path;
  std::size_t job = 1;                   // of `jobs`, counted from 1: it is all that is told of
  std::vector<JobSummary> jobs;          // of the run folder
  std::vector<ProcessAnswer> processes;  // ranks first, then by start time
  std::vector<Unreadable> unreadable;
  std::vector<CollectiveAnswer> collectives;
  std::vector<StuckCollective> stuck;
  KernelAnswer kernel;
  std::optional<RunPath> critical_path;
  std::optional<StepTime> step_time;
  TimeUnknown step_time_unknown = TimeUnknown::kNoWorker;
  std::vector<std::string> step_members;  // whose it is, by their traces
  StepAnswer steps;                       // of the process that made most of them
  std::optional<OneStep> one_step;        // the answer is of that one alone
  std::optional<double> start_up_ms;      // the longest of the ranks; nothing: no step has a place in time
  std::vector<std::string> hosts;
  std::string mode;
  std::uint32_t ranks = 0;
  std::uint64_t start_realtime_ns = 0;
  double wall_s = 0;
  std::optional<double> clock_error_us;          // nothing across hosts that cannot be aligned
  std::map<std::string, HostClock> host_clocks;  // of several hosts, those that are aligned with rank 0's

  // Of step_members; nullptr: its trace is not among the processes.
  const ProcessAnswer* step_member(std::uint32_t member) const;
  // The probe's own trace of the process that a profile is of; nullptr: it is no profile, or the run has none.
  const ProcessAnswer* traced(const ProcessAnswer& profile) const;
  std::string started() const;  // ISO 8601, UTC; "" when unknown
  // Some process launched work for one, waited for one, or somebody saw what ran there.
  bool uses_gpu() const;
};

// ISO 8601, UTC; "" for 0, which is not known.
std::string utc_text(std::uint64_t realtime_ns);

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

// Throws std::invalid_argument when there is no such step.
RunAnswer analyse_run(const ChosenJob& chosen, const Progress& progress, const Effort& effort = {},
                      const StepQuery& query = {});

}  // namespace hostprobe::analysis
