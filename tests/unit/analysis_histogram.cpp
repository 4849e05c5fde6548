// Percentiles from few buckets: model/histogram.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "answer/histogram.h"

namespace hostprobe::analysis {
namespace {

constexpr double kMostError = 0.05;  // what the contract allows

double exact(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(values.size()) - 1e-6));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

TEST(Histogram, PercentilesOfManyShapesAreWithinFivePercent) {
  std::mt19937_64 random(7);
  for (const double spread : {0.1, 1.0, 3.0}) {
    std::lognormal_distribution<double> shape(9, spread);
    Histogram histogram;
    std::vector<double> values;
    for (int i = 0; i < 20000; ++i) {
      values.push_back(std::floor(shape(random)));
      histogram.add(values.back());
    }
    for (const double percent : {1.0, 50.0, 90.0, 99.0, 99.9}) {
      const double truth = exact(values, percent);
      EXPECT_NEAR(histogram.percentile_ns(percent), truth, kMostError * truth + 1)
          << percent << " of spread " << spread;
    }
  }
}

TEST(Histogram, CountTotalAndMaximumAreExact) {
  Histogram histogram;
  for (const double value : {3.0, 1e9, 17.5}) histogram.add(value);
  EXPECT_EQ(histogram.count(), 3u);
  EXPECT_DOUBLE_EQ(histogram.total_ns(), 1e9 + 20.5);
  EXPECT_DOUBLE_EQ(histogram.max_ns(), 1e9);
}

TEST(Histogram, SingleValueIsEveryPercentile) {
  Histogram histogram;
  histogram.add(123456);
  for (const double percent : {0.0, 50.0, 100.0}) EXPECT_DOUBLE_EQ(histogram.percentile_ns(percent), 123456);
}

TEST(Histogram, EmptyAnswersZeroAndCountsNothing) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_DOUBLE_EQ(histogram.percentile_ns(99), 0);
}

TEST(Histogram, SumOfTwoEqualsAllValuesInOne) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> shape(12, 2);
  Histogram left, right, all;
  for (int i = 0; i < 3000; ++i) {
    const double value = shape(random);
    (i % 3 == 0 ? left : right).add(value);
    all.add(value);
  }
  left.add(right);
  EXPECT_EQ(left.count(), all.count());
  EXPECT_DOUBLE_EQ(left.max_ns(), all.max_ns());
  for (const double percent : {5.0, 50.0, 99.0})
    EXPECT_DOUBLE_EQ(left.percentile_ns(percent), all.percentile_ns(percent));
}

TEST(Histogram, ExtremesFindABucket) {
  Histogram histogram;
  histogram.add(-5);  // two clocks that disagree by a little
  histogram.add(0);
  histogram.add(1.8e19);
  EXPECT_EQ(histogram.count(), 3u);
  EXPECT_NEAR(histogram.percentile_ns(100), 1.8e19, 1e18);
  EXPECT_LE(histogram.percentile_ns(10), 0);
}

}  // namespace
}  // namespace hostprobe::analysis
