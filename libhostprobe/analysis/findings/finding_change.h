// finding_change.h: which findings appeared, went, grew or shrank from one run to another.
//
// Room 3. What was too small to be a finding in one run is measured there all the same, as far as it can be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/run_answer.h"
#include "step_change.h"

namespace hostprobe::analysis {

enum class Change { kAppeared, kGone, kGrew, kShrank, kSame };
const char* change_name(Change change);

struct FindingChange {
  std::string cause;
  std::optional<int> rank;
  bool in_a = false, in_b = false;                     // a finding of that run
  std::optional<double> a_share_pct, b_share_pct;      // nothing: not known
  std::optional<double> a_ms_per_step, b_ms_per_step;  // nothing: not known, or no steps
  Change change = Change::kSame;
};

// What changed first.
std::vector<FindingChange> compare_findings(const RunAnswer& a, const RunAnswer& b, const StepChange& steps);

}  // namespace hostprobe::analysis
