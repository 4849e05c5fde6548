// Pairs of launches with and without a context switch between them: analysis/measures/launch_pairs.cpp
#include "analysis/measures/launch_pairs.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

TEST(LaunchPairs, AreOfNeitherGroupWhereNobodySawSwitches) {
  LaunchPairs pairs;
  for (int i = 1; i <= 100; ++i) pairs.add(1000.0 * i, std::nullopt);
  const LaunchPairAnswer answer = pairs.finish(1e9, 101);
  EXPECT_EQ(answer.count, 100u);
  EXPECT_NEAR(*answer.p95_ns, 95'000, 2000);
  EXPECT_FALSE(answer.switched || answer.penalty_ns || answer.impact_pct || answer.tail95_pct || answer.tail99_pct ||
               answer.switches_per_1000);
}

TEST(LaunchPairs, AreNoneWhereNothingIsLaunched) {
  const LaunchPairAnswer answer = LaunchPairs().finish(1e9, 0);
  EXPECT_EQ(answer.count, 0u);
  EXPECT_FALSE(answer.p95_ns || answer.p99_ns || answer.switched);
}

TEST(LaunchPairs, CostWhatASwitchBetweenThemAdds) {
  LaunchPairs pairs;
  for (int i = 0; i < 960; ++i) pairs.add(10'000, GapSwitches{});
  for (int i = 0; i < 40; ++i) pairs.add(110'000, GapSwitches{2, 60'000});
  const LaunchPairAnswer answer = pairs.finish(1e9, 1001);
  EXPECT_EQ(answer.switched, 40u);
  EXPECT_NEAR(*answer.penalty_ns, 100'000, 4000);
  EXPECT_NEAR(*answer.impact_pct, 100 * 40 * 100e3 / 1e9, 0.02);
  EXPECT_NEAR(*answer.tail95_pct, 100, 1e-9) << "the 40 longest";
  EXPECT_NEAR(*answer.switches_per_1000, 1000.0 * 80 / 1001, 1e-9);
}

TEST(LaunchPairs, CostNothingWhereNoneHoldsASwitch) {
  LaunchPairs pairs;
  for (int i = 0; i < 10; ++i) pairs.add(10'000 + i, GapSwitches{});
  const LaunchPairAnswer answer = pairs.finish(1e9, 11);
  EXPECT_EQ(answer.switched, 0u);
  EXPECT_EQ(answer.impact_pct, 0);
  EXPECT_FALSE(answer.penalty_ns);
}

TEST(LaunchPairs, OfTwoPartsAreThoseOfTheWhole) {
  LaunchPairs whole, one, other;
  for (int i = 0; i < 500; ++i) {
    whole.add(1000 + 7 * i, GapSwitches{i % 5 == 0, 0});
    (i % 2 == 0 ? one : other).add(1000 + 7 * i, GapSwitches{i % 5 == 0, 0});
  }
  one.merge(other);
  EXPECT_EQ(one.finish(1e9, 501).penalty_ns, whole.finish(1e9, 501).penalty_ns);
  EXPECT_EQ(one.finish(1e9, 501).tail95_pct, whole.finish(1e9, 501).tail95_pct);
}

}  // namespace
}  // namespace hostprobe::analysis
