// analysis_late_work.cpp: what becomes of work that a lack of a CPU made late.
#include <gtest/gtest.h>

#include "analysis/step_time/late_work.h"

namespace hostprobe::analysis {
namespace {

class LateWork : public testing::Test {
 protected:
  void lose(Cause cause, std::uint32_t member, double ns) {
    LostTime& lost = time_.lost.emplace_back();
    lost.cause = cause, lost.member = member, lost.ns = ns;
    lost.step_ns = {ns};
  }
  double lost(Cause cause, std::uint32_t member) const {
    double ns = 0;
    for (const LostTime& lost : time_.lost)
      if (lost.cause == cause && lost.member == member) ns += lost.ns;
    return ns;
  }
  StepTime time_;
};

TEST_F(LateWork, IsTheLacksAsFarAsItWouldHaveBeenInTime) {
  lose(Cause::kCpuContention, 1, 100), lose(Cause::kHostWork, 1, 60), lose(Cause::kPythonOverhead, 1, 20);
  time_.gains[Cause::kCpuContention] = {100, 90, 110};
  move_late_work(Cause::kCpuContention, 40, time_);
  EXPECT_DOUBLE_EQ(lost(Cause::kCpuContention, 1), 140);
  EXPECT_DOUBLE_EQ(lost(Cause::kHostWork, 1), 30);
  EXPECT_DOUBLE_EQ(lost(Cause::kPythonOverhead, 1), 10);
  EXPECT_DOUBLE_EQ(time_.gains[Cause::kCpuContention].ns, 140);
  EXPECT_DOUBLE_EQ(time_.gains[Cause::kCpuContention].low_ns, 90) << "nobody saw it";
}

TEST_F(LateWork, IsNoMoreThanThereIs) {
  lose(Cause::kCpuContention, 1, 100), lose(Cause::kHostWork, 1, 60);
  move_late_work(Cause::kCpuContention, 500, time_);
  EXPECT_DOUBLE_EQ(lost(Cause::kCpuContention, 1), 160);
  EXPECT_DOUBLE_EQ(lost(Cause::kHostWork, 1), 0);
}

TEST_F(LateWork, OfAThreadThatHadACpuForMostOfItIsItsOwn) {
  lose(Cause::kCpuContention, 1, 100), lose(Cause::kHostWork, 1, 101);
  move_late_work(Cause::kCpuContention, 40, time_);
  EXPECT_DOUBLE_EQ(lost(Cause::kHostWork, 1), 101);
}

TEST_F(LateWork, OfAnotherRankStaysThere) {
  lose(Cause::kCpuContention, 1, 100), lose(Cause::kHostWork, 0, 50), lose(Cause::kFileIo, 1, 50);
  move_late_work(Cause::kCpuContention, 40, time_);
  EXPECT_DOUBLE_EQ(lost(Cause::kHostWork, 0), 50);
  EXPECT_DOUBLE_EQ(lost(Cause::kFileIo, 1), 50);
}

class WhatFollows : public LateWork {
 protected:
  // Of rank 1, besides launches that its GPU waits for and time of which nobody knows; rank 0 has some too.
  WhatFollows() {
    lose(Cause::kPageableCopy, 1, 100), lose(Cause::kLaunchBound, 1, 30), lose(Cause::kUnknown, 1, 10);
    lose(Cause::kLaunchBound, 0, 40);
    time_.gains[Cause::kLaunchBound] = {60, 55, 65};
  }
  void expect(double copies, double launches, double unknown) {
    move_what_follows(time_);
    EXPECT_DOUBLE_EQ(lost(Cause::kPageableCopy, 1), copies);
    EXPECT_DOUBLE_EQ(lost(Cause::kLaunchBound, 1), launches);
    EXPECT_DOUBLE_EQ(lost(Cause::kUnknown, 1), unknown);
    EXPECT_DOUBLE_EQ(lost(Cause::kLaunchBound, 0), 40) << "rank 0 lost nothing by copies";
  }
};

TEST_F(WhatFollows, IsTheCausesAsFarAsItGains) {
  time_.gains[Cause::kPageableCopy] = {125, 110, 140};
  expect(125, 15, 0);
}

TEST_F(WhatFollows, IsNoMoreThanThereIs) {
  time_.gains[Cause::kPageableCopy] = {190, 180, 199};
  expect(140, 0, 0);
}

TEST_F(WhatFollows, StaysWhereItIsUnlessTheGainIsCertain) {
  time_.gains[Cause::kPageableCopy] = {125, 99, 150};
  expect(100, 30, 10);
}

TEST_F(WhatFollows, StaysWhereItWouldBeMostOfTheCause) {
  time_.gains[Cause::kPageableCopy] = {210, 205, 215};
  expect(100, 30, 10);
}

}  // namespace
}  // namespace hostprobe::analysis
