// Some of many steps: analysis/graph/step_sample.cpp
#include "analysis/graph/step_sample.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

TEST(StepSamples, AreAllWhereThereAreNoMore) {
  EXPECT_TRUE(spread_over(0, 5).empty());
  EXPECT_TRUE(spread_over(5, 0).empty());
  EXPECT_EQ(spread_over(3, 3), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(spread_over(3, 10), (std::vector<std::size_t>{0, 1, 2}));
}

TEST(StepSamples, AreEvenlySpread) {
  EXPECT_EQ(spread_over(9, 3), (std::vector<std::size_t>{1, 4, 7}));
  EXPECT_EQ(spread_over(100, 1), (std::vector<std::size_t>{50}));
  for (std::size_t all = 1; all < 200; ++all)
    for (std::size_t most = 1; most <= all; ++most) {
      const std::vector<std::size_t> some = spread_over(all, most);
      ASSERT_EQ(some.size(), most);
      ASSERT_LT(some.back(), all);
      for (std::size_t i = 1; i < most; ++i) ASSERT_LT(some[i - 1], some[i]) << all << ' ' << most;
    }
}

std::vector<Window> steps_of(int count, double length_ns, double apart_ns) {
  std::vector<Window> steps;
  for (int i = 0; i < count; ++i) steps.push_back({apart_ns * i, apart_ns * i + length_ns});
  return steps;
}

TEST(StepSamples, HoldNoMoreThanFits) {
  EXPECT_EQ(steps_that_fit({}, 100, 10), 0u);
  EXPECT_EQ(steps_that_fit(steps_of(10, 100, 100), 1000, 1000), 10u);
  EXPECT_EQ(steps_that_fit(steps_of(10, 100, 100), 1000, 500), 5u);
  EXPECT_EQ(steps_that_fit(steps_of(10, 100, 100), 1000, 99), 0u);
  EXPECT_EQ(steps_that_fit(steps_of(10, 50, 100), 950, 250), 5u) << "half of all lies between them";
  EXPECT_EQ(steps_that_fit(steps_of(10, 100, 100), 0, 1), 10u);
}

}  // namespace
}  // namespace hostprobe::analysis
