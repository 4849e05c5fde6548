// step_row.h: one rank in one step, as a row for joins over many hosts and runs: what it lost by each cause, and who waited for whom.
//
// The waist (answer/). Worked out from where the time of the steps went (step_time.h), so rows added up are what the report says.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run.h"

namespace hostprobe::analysis {

struct StepRow {
  const ProcessAnswer* process = nullptr;
  std::uint64_t number = 0;
  std::string type;
  std::uint64_t begin_realtime_ns = 0;
  double length_ns = 0;
  bool is_explained = false;              // else nothing is known but the above
  std::array<double, kCauses> lost_ns{};  // of its own time, by reported cause; with the next they sum to the length
  double waited_ns = 0;                   // for what other ranks lost
  std::optional<double> late_ns = {};     // that each other rank waited for it, by their mean; nothing: it is alone
  std::optional<double> own_cost_ns = {};
  std::uint64_t ranks = 0;  // that the analysis had; 0: not explained
};

// Names a run whose job has no id by its beginning.
std::string job_name(const RunAnswer& run);

// Of the rank at `place` among the processes: of the steps that were explained, else of all that have a place in time.
std::vector<StepRow> step_rows(const RunAnswer& run, std::size_t place);

}  // namespace hostprobe::analysis
