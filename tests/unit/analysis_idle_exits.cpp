// Threads that are late on a free CPU, and those that had none: analysis/step_time/idle_exits.cpp, and what is gained then,
// analysis/step_time/gains.cpp
#include "analysis/step_time/idle_exits.h"

#include <gtest/gtest.h>

#include "analysis/step_time/gains.h"

namespace hostprobe::analysis {
namespace {

class IdleExits : public testing::Test {
 protected:
  IdleExits() : members_(2) {
    for (std::size_t i = 0; i < members_.size(); ++i) answers_[i].cpus = 4, members_[i].answer = &answers_[i];
  }
  void lose(Cause cause, std::uint32_t member, double ns) {
    LostTime& lost = time_.lost.emplace_back();
    lost.cause = cause, lost.member = member, lost.ns = ns, lost.pieces = 1;
    lost.step_ns = {ns / 2, ns / 2};
  }
  double lost_ns(Cause cause) const {
    double ns = 0;
    for (const LostTime& lost : time_.lost)
      if (lost.cause == cause) ns += lost.ns;
    return ns;
  }

  ProcessAnswer answers_[2];
  std::vector<StepTimeMember> members_;
  StepTime time_;
};

TEST_F(IdleExits, AreToldWhereCpusWereFree) {
  lose(Cause::kIdleStateExit, 0, 100);
  lose(Cause::kCpuContention, 0, 60);
  lose(Cause::kCpuContention, 1, 1000);
  check_idle_exits(members_, time_);
  EXPECT_EQ(lost_ns(Cause::kIdleStateExit), 100);
}

TEST_F(IdleExits, AreALackOfCpusOnARankThatHadNoneForLonger) {
  lose(Cause::kCpuContention, 0, 60);
  lose(Cause::kIdleStateExit, 0, 100);
  lose(Cause::kCpuThrottle, 0, 80);
  EXPECT_EQ(check_idle_exits(members_, time_), (std::map<std::uint32_t, double>{{0, 1}}));
  EXPECT_EQ(lost_ns(Cause::kIdleStateExit), 0);
  EXPECT_EQ(lost_ns(Cause::kCpuContention), 160);
  ASSERT_EQ(time_.lost.size(), 2u);
  EXPECT_EQ(time_.lost[0].pieces, 2u);
  EXPECT_EQ(time_.lost[0].step_ns, (std::vector<double>{80, 80}));
}

TEST_F(IdleExits, AreALackOfCpusWhereThereIsOne) {
  answers_[0].cpus = 1;
  lose(Cause::kIdleStateExit, 0, 100);
  check_idle_exits(members_, time_);
  EXPECT_EQ(lost_ns(Cause::kCpuContention), 100);
  EXPECT_EQ(time_.lost.size(), 1u);
}

TEST_F(IdleExits, AreNoLackOfCpusBeyondWhatTheKernelCounted) {
  answers_[0].cpus = 1;
  answers_[0].threads.emplace_back().time.run_delay_ms = 70e-6;
  lose(Cause::kIdleStateExit, 0, 100);
  lose(Cause::kCpuContention, 0, 30);
  check_idle_exits(members_, time_);
  EXPECT_EQ(lost_ns(Cause::kIdleStateExit), 0);
  EXPECT_NEAR(lost_ns(Cause::kCpuContention), 70, 1e-9);
  EXPECT_NEAR(lost_ns(Cause::kUnexplained), 60, 1e-9);
}

TEST_F(IdleExits, AreGainedWithTheCpusThatTheyBecome) {
  LostPart late, none;
  late.window = {0, 30}, late.ns = 30, late.cause = Cause::kIdleStateExit;
  none.window = {30, 40}, none.ns = 10, none.cause = Cause::kCpuContention;
  const JobGraph job;
  Gains gains(job);
  for (int step = 0; step < 4; ++step) gains.add_step(100, {{late, none}});
  EXPECT_EQ(gains.of_chains().at(Cause::kCpuContention).ns, 40);
  gains.move(Cause::kIdleStateExit, Cause::kCpuContention, 0, 0.5);
  const std::map<Cause, Gain> of = gains.of_chains();
  EXPECT_EQ(of.at(Cause::kCpuContention).ns, 4 * (0.5 * 30 + 10));
  EXPECT_FALSE(of.contains(Cause::kIdleStateExit));
}

}  // namespace
}  // namespace hostprobe::analysis
