// What the gate of a comparison decides: analysis/findings/step_gate.cpp
#include <gtest/gtest.h>

#include "analysis/findings/step_change.h"
#include "analysis/findings/step_gate.h"

namespace hostprobe::analysis {
namespace {

// `swing_pct`: by how much they differ among themselves. All numbers occur equally often in each part of a run.
std::vector<double> steps_of(double median_ms, std::size_t count = 100, double swing_pct = 0.5) {
  std::vector<double> steps;
  for (std::size_t i = 0; i < count; ++i)
    steps.push_back(median_ms * (1 + swing_pct / 100 * (static_cast<double>(i * 37 % 101) - 50) / 50));
  return steps;
}

RunAnswer run_of(std::uint32_t ranks = 2) {
  RunAnswer run;
  run.ranks = ranks;
  run.mode = "trace";
  run.hosts = {"node1"};
  run.steps.source = StepSource::kMarks;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    ProcessAnswer process;
    process.kind = ProcessKind::kRank;
    process.cpus = 8;
    run.processes.push_back(process);
  }
  return run;
}

StepGate gate_of(const std::vector<double>& a, const std::vector<double>& b, double limit_pct = 3,
                 const RunAnswer& run_a = run_of(), const RunAnswer& run_b = run_of()) {
  return judge_steps(compare_steps(a, b), run_a, run_b, limit_pct);
}

TEST(StepGate, ATenthMoreThanTheLimitFails) {
  const StepGate gate = gate_of(steps_of(10), steps_of(11));
  EXPECT_EQ(gate.result, GateResult::kSlower);
  EXPECT_GT(*gate.low_pct, 3);
  EXPECT_EQ(gate_of(steps_of(10), steps_of(11), 20).result, GateResult::kNotSlower);
}

TEST(StepGate, SameFasterAndLittleSlowerStepsPass) {
  for (const double ms : {10.0, 8.0, 10.1}) {
    const StepGate gate = gate_of(steps_of(10), steps_of(ms));
    EXPECT_EQ(gate.result, GateResult::kNotSlower) << ms;
    EXPECT_EQ(gate.reason, GateReason::kMeasured);
  }
}

TEST(StepGate, AChangeThatMayLieOnEitherSideOfTheLimitIsNotDecided) {
  const StepGate gate = gate_of(steps_of(10, 100, 4), steps_of(10.32, 100, 4));
  ASSERT_LT(*gate.low_pct, 3);
  ASSERT_GT(*gate.high_pct, 3);
  ASSERT_GT(*gate.change_pct, 3);
  EXPECT_EQ(gate.result, GateResult::kCannotTell);
  EXPECT_EQ(gate.reason, GateReason::kLimitInInterval);
}

TEST(StepGate, NoiseAboveTheLimitHidesWhatTheGateLooksFor) {
  // Two halves of a run that steps from one level to another and back differ by far more than 3 %.
  std::vector<double> steps;
  for (int i = 0; i < 120; ++i) steps.push_back(i / 20 % 2 == 0 ? 10 : 13);
  const StepGate gate = gate_of(steps, steps);
  EXPECT_EQ(gate.result, GateResult::kCannotTell);
  EXPECT_EQ(gate.reason, GateReason::kNoise);
  EXPECT_GT(gate.noise_pct, 3);
}

TEST(StepGate, FewStepsDecideOnlyWhereTheyLieApart) {
  const StepGate far = gate_of(steps_of(10, 5), steps_of(12, 5));
  EXPECT_EQ(far.result, GateResult::kSlower);
  EXPECT_EQ(gate_of(steps_of(10, 6), steps_of(10, 6)).result, GateResult::kNotSlower);
  EXPECT_EQ(gate_of(steps_of(10, 6, 9), steps_of(10.5, 6, 9)).reason, GateReason::kFewSteps);
  for (const std::size_t count : {1, 4}) {
    const StepGate gate = gate_of(steps_of(10, count), steps_of(20, 100));
    EXPECT_EQ(gate.result, GateResult::kCannotTell) << count << " steps say nothing";
    EXPECT_EQ(gate.reason, GateReason::kFewSteps);
  }
}

TEST(StepGate, WithoutStepsNothingIsDecided) {
  for (const auto& [a, b] : {std::pair(steps_of(10), steps_of(10, 0)), std::pair(steps_of(10, 0), steps_of(10, 0))}) {
    const StepGate gate = gate_of(a, b);
    EXPECT_EQ(gate.result, GateResult::kCannotTell);
    EXPECT_EQ(gate.reason, GateReason::kNoSteps);
  }
}

TEST(StepGate, SettingsThatDifferAreNamedAndNothingIsDecided) {
  RunAnswer other = run_of(4);
  other.mode = "monitor";
  other.processes[1].cpus = 2;
  other.steps.source = StepSource::kDetected;
  const StepGate gate = gate_of(steps_of(10), steps_of(20), 3, run_of(), other);
  EXPECT_EQ(gate.result, GateResult::kCannotTell);
  EXPECT_EQ(gate.reason, GateReason::kSettingsDiffer);
  std::string names;
  for (const DifferingSetting& one : gate.differing) names += one.name + " " + one.a + "/" + one.b + ";";
  EXPECT_EQ(names, "ranks 2/4;mode trace/monitor;steps marks/detected;CPUs of a process 8/2 to 8;");
}

TEST(StepGate, WhatIsNotKnownOfARunDoesNotDiffer) {
  RunAnswer other = run_of();
  other.mode.clear();
  for (ProcessAnswer& process : other.processes) process.cpus = 0;
  EXPECT_EQ(gate_of(steps_of(10), steps_of(10), 3, run_of(), other).result, GateResult::kNotSlower);
}

TEST(StepGate, APartOfAFileDecidesNothing) {
  RunAnswer unreadable = run_of(), in_part = run_of();
  unreadable.unreadable.push_back({"x.hptrace", "damaged", 0});
  in_part.processes[0].imported = ImportAnswer{};
  in_part.processes[0].imported->in_part = true;
  for (const RunAnswer& run : {unreadable, in_part})
    EXPECT_EQ(gate_of(steps_of(10), steps_of(20), 3, run_of(), run).reason, GateReason::kReadInPart);
}

}  // namespace
}  // namespace hostprobe::analysis
