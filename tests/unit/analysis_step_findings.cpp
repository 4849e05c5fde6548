// Findings from where the time of the steps went: analysis/findings/step_findings.cpp
#include "analysis/findings/step_findings.h"
#include "analysis/measures/steps.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

class StepFindings : public testing::Test {
 protected:
  StepFindings() {
    run_.step_time.emplace();
    run_.step_time->length_ns = 1e9;
    run_.step_time->steps = 100;
    run_.steps.lengths = lengths_of(std::vector<double>(100, 1e7));
    run_.processes.resize(2);
    for (unsigned i = 0; i < 2; ++i) {
      run_.processes[i].kind = ProcessKind::kRank;
      run_.processes[i].rank = static_cast<int>(i);
      run_.processes[i].trace_path = std::to_string(i);
      run_.step_members.push_back(run_.processes[i].trace_path);
    }
  }
  // In a hundredth of the steps; with samples of it at a place.
  void lose(Cause cause, std::uint32_t member, double pct, const std::vector<std::string>& stack) {
    LostTime lost;
    lost.cause = cause;
    lost.member = member;
    lost.ns = 1e7 * pct;
    lost.site.stack = stack;
    lost.site.samples = stack.empty() ? 0 : 50;
    lost.step_ns.assign(100, lost.ns / 100);
    run_.step_time->lost.push_back(lost);
    run_.step_time->gains[cause] = {lost.ns, 0.9 * lost.ns, 1.1 * lost.ns};
  }
  RunAnswer run_;
};

TEST_F(StepFindings, OfOnePlaceAreOne) {
  lose(Cause::kPythonOverhead, 1, 30, {"encode (encoder.py:5)", "plant (train.py:61)", "main (train.py:9)"});
  lose(Cause::kUnevenWork, 1, 12, {"plant (train.py:63)", "main (train.py:9)"});
  const std::vector<Finding> findings = find_in_steps(run_);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].cause, Cause::kPythonOverhead);
  EXPECT_NEAR(findings[0].share_pct, 42, 1e-9);
  EXPECT_NEAR(*findings[0].gain_pct, 42, 1e-9);
  EXPECT_NEAR(*findings[0].ms_per_step, 4.2, 1e-9);
}

TEST_F(StepFindings, OfTwoPlacesAreTwo) {
  lose(Cause::kPythonOverhead, 1, 30, {"plant (train.py:61)"});
  lose(Cause::kHostWork, 1, 12, {"augment (data.py:61)"});
  EXPECT_EQ(find_in_steps(run_).size(), 2u);
}

TEST_F(StepFindings, OfTwoRanksAreTwo) {
  lose(Cause::kPythonOverhead, 1, 30, {"plant (train.py:61)"});
  lose(Cause::kHostWork, 0, 12, {"plant (train.py:61)"});
  EXPECT_EQ(find_in_steps(run_).size(), 2u);
}

TEST_F(StepFindings, OfAnUnknownPlaceJoinNothingButTheirOwnCause) {
  lose(Cause::kPythonOverhead, 1, 30, {});
  lose(Cause::kHostWork, 1, 12, {});
  lose(Cause::kUnevenWork, 1, 15, {});
  const std::vector<Finding> findings = find_in_steps(run_);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[1].cause, Cause::kHostWork);
  EXPECT_NEAR(findings[1].share_pct, 27, 1e-9);
}

TEST_F(StepFindings, WithoutWhichTheStepsMayWellTakeAsLongAreNone) {
  lose(Cause::kAllocStall, 1, 15, {});
  run_.step_time->gains[Cause::kAllocStall] = {0.7e7, 0, 1.9e7};
  EXPECT_TRUE(find_in_steps(run_).empty());
  run_.step_time->gains[Cause::kAllocStall] = {1.1e7, 0, 2.3e7};
  EXPECT_EQ(find_in_steps(run_).size(), 1u);
  run_.step_time->gains[Cause::kAllocStall] = {0.9e7, 0.6e7, 1.2e7};
  EXPECT_EQ(find_in_steps(run_).size(), 1u);
}

// Of one rank, by step: so many ns of its own.
LostTime computed(Cause cause, std::uint32_t member, const std::vector<double>& own_step_ns) {
  LostTime lost;
  lost.cause = cause;
  lost.member = member;
  lost.own_step_ns = own_step_ns;
  for (const double ns : own_step_ns) lost.step_ns.push_back(ns / 2), lost.ns += ns / 2;
  lost.site.stack = {"work (train.py:5)"};
  lost.site.samples = 50;
  return lost;
}

TEST_F(StepFindings, OfCodeThatAllRanksRunInEveryStepWithoutAGpuAreNone) {
  for (const unsigned member : {0u, 1u})
    run_.step_time->lost.push_back(computed(Cause::kPythonOverhead, member, std::vector<double>(100, 5e6)));
  EXPECT_TRUE(find_in_steps(run_).empty());
  run_.step_time->lost[0].own_step_ns.assign(100, 3e6);
  run_.step_time->lost.push_back(computed(Cause::kGpuBound, 0, std::vector<double>(100, 2e6)));
  EXPECT_TRUE(find_in_steps(run_).empty()) << "another kind of code, by samples, and no longer in all";
}

TEST_F(StepFindings, OfCodeThatLeavesLittleElseInTheStepAreTold) {
  for (const unsigned member : {0u, 1u})
    run_.step_time->lost.push_back(computed(Cause::kPythonOverhead, member, std::vector<double>(100, 7e6)));
  EXPECT_EQ(find_in_steps(run_).size(), 1u);
}

TEST_F(StepFindings, OfCodeThatARankRunsBeyondTheOthersAreTold) {
  run_.step_time->lost.push_back(computed(Cause::kPythonOverhead, 0, std::vector<double>(100, 2e6)));
  run_.step_time->lost.push_back(computed(Cause::kPythonOverhead, 1, std::vector<double>(100, 6e6)));
  EXPECT_EQ(find_in_steps(run_).size(), 1u);
}

TEST_F(StepFindings, OfCodeThatSomeStepsRunBeyondTheOthersAreTold) {
  for (const unsigned member : {0u, 1u}) {
    std::vector<double> own_ns(100, 1e6);
    for (std::size_t i = 9; i < own_ns.size(); i += 10) own_ns[i] = 60e6;
    run_.step_time->lost.push_back(computed(Cause::kPythonOverhead, member, own_ns));
  }
  EXPECT_EQ(find_in_steps(run_).size(), 1u);
}

TEST_F(StepFindings, OfCodeBesideAGpuAreTold) {
  for (const unsigned member : {0u, 1u}) {
    run_.processes[member].launches.call.add(1e3);
    run_.step_time->lost.push_back(computed(Cause::kPythonOverhead, member, std::vector<double>(100, 5e6)));
  }
  EXPECT_EQ(find_in_steps(run_).size(), 1u);
}

TEST_F(StepFindings, OfALittleCodeAreToldWhereAPlaceIsKnown) {
  for (const Cause cause : {Cause::kUnevenWork, Cause::kHostWork})
    for (const bool has_place : {false, true}) {
      run_.step_time->lost.clear();
      lose(cause, 0, 5, has_place ? std::vector<std::string>{"plant (train.py:61)"} : std::vector<std::string>{});
      EXPECT_EQ(find_in_steps(run_).size(), has_place ? 1u : 0u);
    }
}

TEST_F(StepFindings, OfALittleSleepAreToldForItHasACall) {
  lose(Cause::kHostWork, 0, 5, {});
  run_.step_time->lost.back().site.function = "usleep";
  EXPECT_EQ(find_in_steps(run_).size(), 1u);
}

TEST_F(StepFindings, OfOneLookAtTheGpuInAStepTakeTwiceTheLeastShare) {
  const auto named = [this](double pct, unsigned calls) {
    run_.step_time->lost.clear();
    run_.processes[0].syncs = {};
    for (unsigned i = 0; i < 100 * calls; ++i) run_.processes[0].syncs.time.add(1e3);
    lose(Cause::kSyncCalls, 0, pct, {});
    return !find_in_steps(run_).empty();
  };
  EXPECT_FALSE(named(5, 2));
  EXPECT_TRUE(named(5, 3));
  EXPECT_TRUE(named(9, 1));
}

TEST_F(StepFindings, OfOtherCausesStayWhatTheyAre) {
  lose(Cause::kPythonOverhead, 1, 30, {"plant (train.py:61)"});
  lose(Cause::kGcPause, 1, 12, {"plant (train.py:61)"});
  EXPECT_EQ(find_in_steps(run_).size(), 2u);
}

// A cause that is estimated may have come into one of a hundred steps by chance; a stop was there.
TEST_F(StepFindings, OfFewStepsAreOnesOfWhatWasSeen) {
  for (const Cause cause : {Cause::kProcessStopped, Cause::kLockContention}) {
    lose(cause, 1, 4, {});
    std::vector<double>& step_ns = run_.step_time->lost.back().step_ns;
    step_ns.assign(100, 0);
    step_ns[50] = run_.step_time->lost.back().ns;
  }
  const std::vector<Finding> findings = find_in_steps(run_);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].cause, Cause::kProcessStopped);
}

}  // namespace
}  // namespace hostprobe::analysis
