// Ticks become nanoseconds: analysis/clock.cpp.
#include <gtest/gtest.h>

#include "trace/clock.h"

namespace hostprobe::analysis {
namespace {

TEST(TickClock, TimesBetweenTwoPairsLieOnTheLineThroughThem) {
  TickClock clock;
  clock.set_pairs({{1000, 500, 0}, {3000, 1500, 0}, {5000, 3500, 0}});
  EXPECT_EQ(clock.monotonic_ns(2000), 1000u);
  EXPECT_EQ(clock.monotonic_ns(4000), 2500u);
  EXPECT_DOUBLE_EQ(clock.span_ns(2000, 4000), 1500);
}

TEST(TickClock, OutsideOfAllPairsTheRateOfTheWholeTraceHolds) {
  TickClock clock;
  clock.set_pairs({{1000, 1000, 0}, {1010, 1030, 0}, {3000, 2000, 0}});  // the first two are too close to be exact
  EXPECT_EQ(clock.monotonic_ns(5000), 3000u);
  EXPECT_EQ(clock.monotonic_ns(0), 500u);
}

TEST(TickClock, PairsMayComeInAnyOrderAndTwice) {
  TickClock clock;
  clock.set_pairs({{3000, 1500, 0}, {1000, 500, 7}, {3000, 1500, 0}});
  EXPECT_TRUE(clock.known());
  EXPECT_EQ(clock.monotonic_ns(2000), 1000u);
  EXPECT_EQ(clock.realtime_offset_ns(), 7 - 500);
}

TEST(TickClock, PairThatRunsBackwardsIsLeftOut) {
  TickClock clock;
  clock.set_pairs({{1000, 500, 0}, {2000, 400, 0}, {3000, 1500, 0}});
  EXPECT_EQ(clock.monotonic_ns(2000), 1000u);
}

TEST(TickClock, OneReadingTellsNoRate) {
  TickClock clock;
  clock.set_pairs({{0, 0, 0}, {1000, 500, 0}});
  EXPECT_FALSE(clock.known());
}

TEST(TickClock, ErrorIsUnknownWithoutAThirdPairAndTheBendWithOne) {
  TickClock clock;
  clock.set_pairs({{1000, 1000, 0}, {3000, 3000, 0}});
  EXPECT_FALSE(clock.error_ns());
  clock.set_pairs({{1000, 1000, 0}, {2000, 2040, 0}, {3000, 3000, 0}});
  ASSERT_TRUE(clock.error_ns());
  EXPECT_NEAR(*clock.error_ns(), 40, 1e-6);
}

TEST(TickClock, NanosecondsSurviveAYearOfUptime) {
  constexpr std::uint64_t kYearNs = 365ull * 86400 * 1'000'000'000;
  TickClock clock;
  clock.set_pairs({{1000, kYearNs, 0}, {1000 + 2'000'000'000ull, kYearNs + 1'000'000'000, 0}});
  EXPECT_EQ(clock.monotonic_ns(1000 + 2 * 777), kYearNs + 777);
  EXPECT_DOUBLE_EQ(clock.span_ns(1000, 1002), 1);
}

TEST(TickClock, ReadingNowAdvancesAllThreeClocks) {
  const ClockPair first = read_clocks_now();
  ClockPair second = read_clocks_now();
  while (second.monotonic_ns == first.monotonic_ns) second = read_clocks_now();
  EXPECT_GT(second.ticks, first.ticks);
  EXPECT_GT(second.monotonic_ns, first.monotonic_ns);
  EXPECT_NE(first.realtime_ns, 0u);
}

TEST(TickReader, TellsTheTimesOfTheClockInAnyOrder) {
  TickClock clock;
  clock.set_pairs({{1000, 500, 1}, {3000, 1600, 1}, {9000, 4400, 1}});
  TickReader reader(clock);
  for (const std::uint64_t ticks : {5000u, 5001u, 900u, 20'000u, 2999u, 3000u, 3001u, 1000u, 999u, 9000u, 0u, 8999u}) {
    EXPECT_EQ(clock.monotonic_ns_of(reader.since_first_ns(ticks)), clock.monotonic_ns(ticks)) << ticks;
    EXPECT_EQ(reader.since_first_ns(ticks), clock.span_ns(1000, ticks)) << ticks;
  }
  const TickClock unknown;
  EXPECT_EQ(TickReader(unknown).since_first_ns(77), 0);
}

}  // namespace
}  // namespace hostprobe::analysis
