// gate.cpp: see gate.h.
#include "gate.h"

namespace hostprobe::analysis {

const char* gate_result_id(GateResult result) {
  switch (result) {
    case GateResult::kNotSlower:
      return "not_slower";
    case GateResult::kSlower:
      return "slower";
    case GateResult::kCannotTell:
      return "cannot_tell";
  }
  return "cannot_tell";
}

const char* gate_reason_id(GateReason reason) {
  switch (reason) {
    case GateReason::kMeasured:
      return "measured";
    case GateReason::kNoSteps:
      return "no_steps";
    case GateReason::kSettingsDiffer:
      return "settings_differ";
    case GateReason::kReadInPart:
      return "read_in_part";
    case GateReason::kFewSteps:
      return "few_steps";
    case GateReason::kNoise:
      return "noise";
    case GateReason::kLimitInInterval:
      return "limit_in_interval";
  }
  return "measured";
}

}  // namespace hostprobe::analysis
