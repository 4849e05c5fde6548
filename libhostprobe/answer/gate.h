// gate.h: whether the steps of a second run are slower than those of a first by more than a limit, or why that cannot be said.
//
// The waist (answer/). analysis/findings/step_gate.h fills it; `hostprobe diff --fail-over` exits by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hostprobe::analysis {

enum class GateResult : std::uint8_t { kNotSlower, kSlower, kCannotTell };

enum class GateReason : std::uint8_t {
  kMeasured,         // it can be told
  kNoSteps,          // a run has none with a place in time
  kSettingsDiffer,   // the runs are no two measurements of one thing
  kReadInPart,       // of a profile: steps may be missing
  kFewSteps,         // too few to tell a change from noise
  kNoise,            // parts of one run differ by more than the limit
  kLimitInInterval,  // the change may lie on either side of the limit
};

const char* gate_result_id(GateResult result);  // "not_slower", "slower", "cannot_tell"
const char* gate_reason_id(GateReason reason);

// A circumstance under which a step is another one, as text of each run.
struct DifferingSetting {
  std::string name, a, b;
};

struct StepGate {
  double limit_pct = 0;
  GateResult result = GateResult::kCannotTell;
  GateReason reason = GateReason::kNoSteps;
  std::optional<double> change_pct, low_pct, high_pct;  // the last two: it lies between
  double noise_pct = 0;
  std::uint64_t a_count = 0, b_count = 0;  // steps
  std::vector<DifferingSetting> differing;
};

}  // namespace hostprobe::analysis
