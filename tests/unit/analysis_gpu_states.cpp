// What a GPU did at each moment, and that what nobody knows is neither work nor idleness: analysis/step_time/gpu_states.h
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/step_time/gpu_states.h"

namespace hostprobe::analysis {
namespace {

struct Look {
  bool unknown = false;
  float error_us = 0;
  bool collective = false;
  bool elsewhere = false;
};

class GpuStates : public testing::Test {
 protected:
  void run(double begin_us, double end_us, Look look = {}) {
    ActivityNode node;
    node.begin_ns = 1000 * begin_us;
    node.end_ns = 1000 * end_us;
    node.unknown = look.unknown;
    node.error_ns = 1000 * look.error_us;
    node.collective = look.collective;
    node.elsewhere = look.elsewhere;
    job_.parts.resize(1);
    job_.parts[0].nodes.push_back(node);
  }
  using State = std::tuple<GpuState, double, double>;
  // In us; they must have no holes.
  std::vector<State> states() {
    std::vector<State> all;
    double until_ns = -1;
    for (const GpuStretch& one : gpu_stretches(job_, 0)) {
      if (until_ns >= 0) {
        EXPECT_DOUBLE_EQ(one.begin_ns, until_ns);
      }
      EXPECT_LT(one.begin_ns, one.end_ns);
      until_ns = one.end_ns;
      all.emplace_back(one.state, 1e-3 * one.begin_ns, 1e-3 * one.end_ns);
    }
    return all;
  }
  JobGraph job_;
};

TEST_F(GpuStates, ACollectiveWithRanksOfWhichThereIsNoTraceIsAWaitForThem) {
  run(0, 100, {.collective = true});
  run(100, 200, {.collective = true, .elsewhere = true});
  EXPECT_THAT(states(), testing::ElementsAre(State{GpuState::kTransfers, 0, 100}, State{GpuState::kWaits, 100, 200}));
  EXPECT_EQ(gpu_stretches(job_, 0).back().operation, nullptr);
}

TEST_F(GpuStates, AGapBehindAnExactEndIsIdle) {
  run(0, 100);
  run(120, 200);
  EXPECT_THAT(states(), testing::ElementsAre(State{GpuState::kWorks, 0, 100}, State{GpuState::kIdle, 100, 120},
                                             State{GpuState::kWorks, 120, 200}));
}

TEST_F(GpuStates, AGapShorterThanTheErrorOfWhatEndedIsUnknown) {
  run(0, 100, {.error_us = 30});
  run(120, 200);
  EXPECT_THAT(states(), testing::ElementsAre(State{GpuState::kWorks, 0, 100}, State{GpuState::kUnknown, 100, 120},
                                             State{GpuState::kWorks, 120, 200}));
}

TEST_F(GpuStates, OfALongerGapOnlySoMuchIsUnknown) {
  run(0, 100, {.error_us = 30});
  run(500, 600);
  EXPECT_THAT(states(), testing::ElementsAre(State{GpuState::kWorks, 0, 100}, State{GpuState::kUnknown, 100, 130},
                                             State{GpuState::kIdle, 130, 500}, State{GpuState::kWorks, 500, 600}));
}

TEST_F(GpuStates, SmallErrorsCountOnlyWhereNothingElseIsKnownOfTheWork) {
  run(0, 10, {.error_us = 0.5});
  run(12, 12.5, {.error_us = 0.5});
  run(14, 20);
  EXPECT_THAT(states(), testing::ElementsAre(State{GpuState::kWorks, 0, 10}, State{GpuState::kIdle, 10, 12},
                                             State{GpuState::kWorks, 12, 12.5}, State{GpuState::kUnknown, 12.5, 13},
                                             State{GpuState::kIdle, 13, 14}, State{GpuState::kWorks, 14, 20}));
}

TEST_F(GpuStates, TheErrorIsOfWhatEndedLastAndNotOfWhatBeganLast) {
  run(0, 100);
  run(10, 50, {.error_us = 400});
  run(300, 400);
  EXPECT_THAT(states(), testing::ElementsAre(State{GpuState::kWorks, 0, 100}, State{GpuState::kIdle, 100, 300},
                                             State{GpuState::kWorks, 300, 400}));
}

TEST_F(GpuStates, WhereSomethingWorksItDoesNotMatterWhatElseIsUnknown) {
  run(0, 300, {.unknown = true});
  run(100, 200);
  run(400, 500, {.unknown = true});
  EXPECT_THAT(states(), testing::ElementsAre(State{GpuState::kUnknown, 0, 100}, State{GpuState::kWorks, 100, 200},
                                             State{GpuState::kUnknown, 200, 300}, State{GpuState::kIdle, 300, 400},
                                             State{GpuState::kUnknown, 400, 500}));
}

TEST_F(GpuStates, WhatEndedAGapIsNamed) {
  run(0, 100, {.unknown = true});
  run(200, 300, {.unknown = true});
  const std::vector<GpuStretch> all = gpu_stretches(job_, 0);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].state, GpuState::kIdle);
  EXPECT_EQ(all[1].activity, 1u);
}

TEST_F(GpuStates, ActivitiesWithoutLengthAndNoneAtAllAreNothing) {
  job_.parts.resize(1);
  EXPECT_TRUE(states().empty());
  run(50, 50, {.error_us = 1e6f});
  EXPECT_TRUE(states().empty());
}

}  // namespace
}  // namespace hostprobe::analysis
