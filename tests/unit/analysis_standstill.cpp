// Jobs that stand still without NCCL, by what the main threads of their ranks have been in for long: analysis/causes/standstill.cpp. And
// processes that wait for a child which waits for ever: analysis/causes/stuck_child.cpp
#include <gtest/gtest.h>

#include "analysis/causes/detectors.h"

namespace hostprobe::analysis {
namespace {

constexpr const char* kExchange = "all_reduce (distributed_c10d.py:4181)";
constexpr const char* kEvaluate = "evaluate (left_path.py:13)";

class StandsStill : public testing::Test {
 protected:
  static LongWait wait(const char* python, std::vector<int> ranks, double s) {
    LongWait one;
    one.function = "poll", one.library = "libtorch_cpu.so", one.python = python;
    one.ranks = std::move(ranks), one.least_s = s, one.most_s = s + 1;
    return one;
  }
  std::optional<Finding> ask(std::vector<LongWait> waits, std::uint32_t ranks = 4) {
    run_.ranks = ranks;
    run_.long_waits = std::move(waits);
    return detect_standstill(run_);
  }
  RunAnswer run_;
};

TEST_F(StandsStill, OnTheRankThatIsElsewhereWhileTheOthersWaitForIt) {
  const auto found = ask({wait(kEvaluate, {2}, 9), wait(kExchange, {0, 1, 3}, 8)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::kSlowRank);
  EXPECT_EQ(found->rank, 2);
  const auto& seen = found->evidence.of<StandstillEvidence>();
  EXPECT_EQ(seen.op, "all_reduce");
  EXPECT_EQ(seen.missing, 1u);
  EXPECT_EQ(seen.arrived, 3u);
  EXPECT_EQ(seen.ranks, 4u);
  EXPECT_EQ(seen.since_ms, 8000);
  EXPECT_EQ(seen.missing_in, kEvaluate);
}

TEST_F(StandsStill, WhereSeveralAreElsewhereTheLongestIsNamed) {
  const auto found = ask({wait(kEvaluate, {1, 3}, 20), wait("", {0}, 10), wait(kExchange, {2}, 9)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 1);
  EXPECT_EQ(found->evidence.of<StandstillEvidence>().missing, 3u);
}

TEST_F(StandsStill, NotWhileARankWorks) { EXPECT_FALSE(ask({wait(kEvaluate, {2}, 9), wait(kExchange, {0, 1}, 8)})); }

TEST_F(StandsStill, NotForAMoment) { EXPECT_FALSE(ask({wait(kEvaluate, {2}, 9), wait(kExchange, {0, 1, 3}, 4)})); }

TEST_F(StandsStill, NotWhereAllWaitInOneOrNobodyWaitsForOthers) {
  EXPECT_FALSE(ask({wait(kExchange, {0, 1, 2, 3}, 9)}));
  EXPECT_FALSE(ask({wait(kEvaluate, {0, 1, 2, 3}, 9)}));
  EXPECT_FALSE(ask({}));
}

TEST_F(StandsStill, NotOnceTheProcessesHaveEnded) {
  std::vector<LongWait> waits = {wait(kEvaluate, {2}, 9), wait(kExchange, {0, 1, 3}, 8)};
  waits[1].ended = true;
  EXPECT_FALSE(ask(waits));
}

TEST_F(StandsStill, AFileOfTheProgramsWithSuchANameEndIsNone) {
  EXPECT_FALSE(ask({wait(kEvaluate, {2}, 9), wait("run (my_distributed_c10d.py:4)", {0, 1, 3}, 8)}));
}

// A process whose child can never go on, and which waits for so long.
RunAnswer waits_for_child(double waited_ms, EndState end = EndState::kRunning) {
  RunAnswer run;
  ProcessAnswer& process = run.processes.emplace_back();
  process.pid = 100, process.end = end, process.wall_ms = 20000;
  process.stuck_children.push_back({4250, "gomp_barrier_wait (libgomp.so.1)", "augment (train.py:30)"});
  ThreadAnswer& main = process.threads.emplace_back();
  main.tid = 100;
  if (waited_ms > 0) main.open_wait.emplace().ms = waited_ms;
  return run;
}

TEST(AChildThatWaitsForEver, IsNamedWhileItsParentWaits) {
  const auto found = detect_stuck_child(waits_for_child(8000));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::kLockContention);
  EXPECT_EQ(found->pid, 100u);
  EXPECT_NEAR(found->share_pct, 40, 1e-6);
  const auto& seen = found->evidence.of<StuckChildEvidence>();
  EXPECT_EQ(seen.child_pid, 4250u);
  EXPECT_EQ(seen.child_in, "gomp_barrier_wait (libgomp.so.1)");
  EXPECT_EQ(seen.child_line, "augment (train.py:30)");
}

TEST(AChildThatWaitsForEver, IsNotNamedWhereNobodyWaitsForLong) {
  EXPECT_FALSE(detect_stuck_child(waits_for_child(0)));
  EXPECT_FALSE(detect_stuck_child(waits_for_child(500)));
  EXPECT_FALSE(detect_stuck_child(waits_for_child(8000, EndState::kEnded)));
}

}  // namespace
}  // namespace hostprobe::analysis
