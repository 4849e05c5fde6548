// trials.h: what the fix `auto` tried in a run, what that showed, and what it decided.
//
// Room 3. From the events of the rank that decided for its job; each stands in one process only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/run.h"
#include "json_numbers.h"

namespace hostprobe::analysis {

struct TrialAnswer {
  std::optional<int> rank;
  std::uint32_t pid = 0;
  double at_s = 0;  // when it was decided, since the process began
  std::string fix;
  std::string verdict;                                       // kept, useless, harmful, undecided
  unsigned windows_without = 0, windows_with = 0;            // of steps
  double step_without_ms = 0, step_with_ms = 0;              // medians of the windows
  double gain_pct = 0, gain_low_pct = 0, gain_high_pct = 0;  // of the step
  bool has_interval = false;  // else there were too few windows, and the last two mean nothing
};

// Nothing: the event tells of no trial.
std::optional<TrialAnswer> trial_of(const ProcessAnswer& process, const ActionAnswer& event);
std::vector<TrialAnswer> trials_of(const RunAnswer& run);

Json trials_json(const RunAnswer& run);
// A table with its heading; "": there was none.
std::string trial_table(const RunAnswer& run);

}  // namespace hostprobe::analysis
