// run_diff.h: what changed from one run to another, as data: steps, findings, kernels, collectives, waits, wakes, launch gaps,
// progress threads.
//
// Room 3. Steps are the samples, where there are any. What both runs would differ by anyway is no change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run_answer.h"
#include "finding_change.h"
#include "step_change.h"

namespace hostprobe::analysis {

// Durations of one kind in one run. Only a count of 0 where the run has none.
struct DiffSide {
  std::uint64_t count = 0;
  std::optional<double> avg_us, median_us, min_us, max_us, p99_us, share_pct;
};

struct DiffRow {
  std::string name;
  DiffSide a, b;
  std::optional<double> change_pct;  // of the average
  bool significant = false;
};

// A class of the job's critical path.
struct PathChange {
  PathClass one = PathClass::kCpu;
  double a_pct = 0, b_pct = 0;
  std::optional<double> a_ms_per_step, b_ms_per_step;  // nothing without steps
};

struct RunDiff {
  StepChange steps;
  std::vector<FindingChange> findings;  // what changed first
  std::vector<DiffRow> delay_chain;     // in the order of its links; shares mean nothing there
  // Heaviest first, in either run.
  std::vector<DiffRow> kernels;
  std::string collective_source;  // "gpu" or "host": whose time the rows below are
  std::vector<DiffRow> collectives;
  std::vector<DiffRow> waits;
  std::vector<DiffRow> wakes;
  std::vector<DiffRow> launch_gaps;  // one row, or none
  std::vector<DiffRow> progress;     // one row, or none
  std::vector<PathChange> path;      // each class, where both runs have a path
  bool nothing_in_common = false;    // no row has both sides
};

RunDiff compare_runs(const RunAnswer& a, const RunAnswer& b);

}  // namespace hostprobe::analysis
