// diff.h: what changed from one run to another, as data.
//
// The waist (answer/). analysis/findings/run_diff.h fills it. Steps are the samples, where there are any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cause.h"
#include "gate.h"
#include "path.h"

namespace hostprobe::analysis {

struct StepChange {
  std::size_t a_count = 0, b_count = 0;
  std::optional<double> a_median_ms, b_median_ms, change_pct;
  std::optional<double> a_min_ms, a_max_ms, b_min_ms, b_max_ms;
  std::optional<double> low_pct, high_pct;  // the change lies between, in 99 of 100 cases; nothing: too few steps
  double noise_pct = 0;                     // what parts of one run differ by
  bool significant = false;
};

enum class Change { kAppeared, kGone, kGrew, kShrank, kSame };

const char* change_name(Change change);

struct FindingChange {
  Cause cause = Cause::kUnexplained;
  std::optional<int> rank;
  bool in_a = false, in_b = false;                     // a finding of that run
  std::optional<double> a_share_pct, b_share_pct;      // nothing: not known
  std::optional<double> a_ms_per_step, b_ms_per_step;  // nothing: not known, or no steps
  Change change = Change::kSame;
};

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
  std::optional<StepGate> gate;      // nothing: no limit was given
};

}  // namespace hostprobe::analysis
