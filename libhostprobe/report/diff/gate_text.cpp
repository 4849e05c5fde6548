// gate_text.cpp: see gate_text.h.
#include "gate_text.h"

#include <fmt/format.h>

#include <cmath>

#include "words/words.h"

namespace hostprobe::analysis {
namespace {

std::string change_words(double pct) {
  return fmt::format("{:.1f} % {}", std::abs(pct), pct < 0 ? "faster" : "slower");
}

std::string change_text(const StepGate& gate) {
  return fmt::format("steps are {} in B, between {:+.1f} % and {:+.1f} %", change_words(*gate.change_pct),
                     *gate.low_pct, *gate.high_pct);
}

std::string settings_text(const StepGate& gate) {
  std::string text;
  for (const DifferingSetting& one : gate.differing)
    text +=
        fmt::format("{}{}: {} in A, {} in B", text.empty() ? "" : "; ", one.name, printable(one.a), printable(one.b));
  return text;
}

std::string reason_text(const StepGate& gate) {
  switch (gate.reason) {
    case GateReason::kMeasured:
      return change_text(gate);
    case GateReason::kNoSteps:
      return "at least one run has no steps; mark them with hostprobe.step(i)";
    case GateReason::kSettingsDiffer:
      return "the runs are not comparable; " + settings_text(gate);
    case GateReason::kReadInPart:
      return "a file of these runs was not read to its end, so steps may be missing";
    case GateReason::kFewSteps:
      return fmt::format("{} steps in A and {} in B are too few; record at least 20 in each", gate.a_count,
                         gate.b_count);
    case GateReason::kNoise:
      return fmt::format(
          "parts of one run differ by {:.1f} %, more than the limit; record longer, or on a quieter machine",
          gate.noise_pct);
    case GateReason::kLimitInInterval:
      return change_text(gate) + ", which includes the limit; record more steps";
  }
  return "";
}

}  // namespace

std::string gate_text(const StepGate& gate) {
  const char* result = gate.result == GateResult::kSlower      ? "failed"
                       : gate.result == GateResult::kNotSlower ? "passed"
                                                               : "cannot decide";
  return fmt::format("The gate of {:g} % {}: {}.", gate.limit_pct, result, reason_text(gate));
}

}  // namespace hostprobe::analysis
