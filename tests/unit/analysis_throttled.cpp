// What of a time without a CPU was a quota: analysis/step_time/throttled.cpp
#include "analysis/step_time/throttled.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

TEST(ThrottledTimes, TakeNoMoreThanTheGroupWasStopped) {
  HostThread thread, other;
  ThrottledTime quota({{{0, 250e6}, 60e6}, {{500e6, 750e6}, 10e6}});
  EXPECT_DOUBLE_EQ(quota.take(thread, {0, 100e6}, 40e6), 40e6);
  EXPECT_DOUBLE_EQ(quota.take(thread, {100e6, 200e6}, 40e6), 20e6) << "what is left";
  EXPECT_DOUBLE_EQ(quota.take(thread, {300e6, 400e6}, 40e6), 0) << "no quota was used up then";
  EXPECT_DOUBLE_EQ(quota.take(other, {0, 100e6}, 40e6), 40e6) << "each thread by itself";
  EXPECT_DOUBLE_EQ(quota.take(thread, {400e6, 600e6}, 16e6), 8e6) << "by what of the window lies in it";
  EXPECT_DOUBLE_EQ(quota.take(thread, {600e6, 700e6}, 0), 0);
}

}  // namespace
}  // namespace hostprobe::analysis
