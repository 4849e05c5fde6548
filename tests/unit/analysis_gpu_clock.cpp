// When the device's clock was what on the host's, and that nothing is said where it is not known: model/gpu_clock.h
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/gpu_clock.h"

namespace hostprobe::analysis {
namespace {

constexpr double kUs = 1e3, kMs = 1e6, kSecond = 1e9;
constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

GpuClockBase base(std::uint64_t number, double earliest_ns, double latest_ns, double since_ns,
                  std::uint32_t context = 0) {
  GpuClockBase one;
  one.number = number;
  one.earliest_ns = earliest_ns;
  one.latest_ns = latest_ns;
  one.since_ns = since_ns;
  one.context = context;
  one.device = context;
  return one;
}

TEST(GpuClocks, ABaseWasReachedBetweenItsCallAndTheQueryThatSawIt) {
  const GpuClock clock({base(1, 100 * kUs, 104 * kUs, 0)});
  const double at_ns = clock.host_ns(1, 0).value();
  EXPECT_GE(at_ns, 100 * kUs);
  EXPECT_LE(at_ns, 104 * kUs);
  EXPECT_DOUBLE_EQ(clock.error_ns(), 2 * kUs);
  EXPECT_DOUBLE_EQ(clock.host_ns(1, 7 * kUs).value(), at_ns + 7 * kUs);
}

TEST(GpuClocks, BasesBoundEachOther) {
  // The first is bounded badly, the second ten milliseconds later well.
  const GpuClock clock({base(1, 0, 80 * kUs, 0), base(2, 10 * kMs + 20 * kUs, 10 * kMs + 22 * kUs, 10 * kMs)});
  EXPECT_NEAR(clock.host_ns(1, 0).value(), 21 * kUs, 1.1 * kUs);
  const GpuClock other({base(1, 20 * kUs, 22 * kUs, 0), base(2, 10 * kMs, 10 * kMs + 80 * kUs, 10 * kMs)});
  EXPECT_NEAR(other.host_ns(2, 0).value(), 10 * kMs + 21 * kUs, 1.1 * kUs);
}

// Queries come as regularly as their bases: as likely as at its begin each saw its event at its end.
TEST(GpuClocks, ABaseIsInTheMiddleOfWhatAllBoundsAllow) {
  std::vector<GpuClockBase> bases;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const double host_ns = static_cast<double>(i) * 10 * kMs;
    bases.push_back(base(i + 1, host_ns - kUs, host_ns + 3 * kUs, i == 0 ? 0 : 10 * kMs));
  }
  bases.push_back(base(11, 100 * kMs - 5 * kUs, 100 * kMs + 2 * kUs, 10 * kMs));
  const GpuClock clock(bases);
  EXPECT_NEAR(clock.host_ns(5, 0).value(), 40 * kMs + 0.5 * kUs, 1);
  EXPECT_NEAR(clock.host_ns(11, 0).value(), 100 * kMs + 0.5 * kUs, 1);
}

TEST(GpuClocks, DriftIsFollowed) {
  for (const double drift : {100e-6, -100e-6}) {
    std::vector<GpuClockBase> bases;
    for (std::uint64_t i = 0; i < 10; ++i) {
      const double host_ns = static_cast<double>(i) * kSecond;
      bases.push_back(base(i + 1, host_ns - kUs, host_ns + kUs, i == 0 ? 0 : kSecond * (1 - drift)));
    }
    const GpuClock clock(bases);
    for (std::uint64_t i = 0; i < 9; ++i) {
      const double is_ns = (static_cast<double>(i) + 0.5) * kSecond;
      EXPECT_NEAR(clock.host_ns(i + 1, 0.5 * kSecond * (1 - drift)).value(), is_ns, 3 * kUs) << drift << " " << i;
    }
  }
}

TEST(GpuClocks, OneThatBeginsAnewIsPlacedByItsOwnBases) {
  // The device's clock says that it went back, or that this base is the first: what was before tells nothing.
  for (const double since_ns : {0.0, -5 * kSecond}) {
    const GpuClock clock({base(1, 0, 2 * kUs, 0), base(2, 10 * kMs, 10 * kMs + 2 * kUs, 10 * kMs),
                          base(3, 700 * kMs, 700 * kMs + 2 * kUs, since_ns),
                          base(4, 710 * kMs, 710 * kMs + 2 * kUs, 10 * kMs)});
    EXPECT_NEAR(clock.host_ns(2, kMs).value(), 11 * kMs + kUs, 3 * kUs);
    EXPECT_NEAR(clock.host_ns(3, kMs).value(), 701 * kMs + kUs, 3 * kUs);
    EXPECT_NEAR(clock.host_ns(4, kMs).value(), 711 * kMs + kUs, 3 * kUs);
  }
}

TEST(GpuClocks, WithoutABaseNothingIsKnown) {
  const GpuClock none({});
  EXPECT_FALSE(none.host_ns(0, 0));
  EXPECT_FALSE(none.device_of(0));
  EXPECT_EQ(none.error_ns(), 0);
  EXPECT_EQ(none.empty_event_ns(), 0);
  const GpuClock one({base(5, 0, kUs, 0)});
  EXPECT_FALSE(one.host_ns(4, 0)) << "of a base that has no record";
  EXPECT_FALSE(one.device_of(6));
}

TEST(GpuClocks, ABaseThatWasNotSeenSoonBoundsNothing) {
  for (const double latest_ns : {kNever, 10 * kMs + 30 * kMs}) {
    const GpuClock clock({base(1, 0, 2 * kUs, 0), base(2, 10 * kMs - 50 * kUs, latest_ns, 10 * kMs),
                          base(3, 20 * kMs, 20 * kMs + 2 * kUs, 10 * kMs)});
    for (std::uint64_t i = 0; i < 3; ++i)
      EXPECT_NEAR(clock.host_ns(i + 1, 0).value(), static_cast<double>(i) * 10 * kMs + kUs, 2 * kUs) << i;
    EXPECT_DOUBLE_EQ(clock.error_ns(), kUs) << "it is no measure of the others";
  }
  const GpuClock alone({base(1, 5 * kUs, kNever, 0)});
  EXPECT_DOUBLE_EQ(alone.host_ns(1, 0).value(), 5 * kUs) << "it cannot have been earlier";
  EXPECT_EQ(alone.error_ns(), 0);
}

TEST(GpuClocks, ContextsHaveClocksOfTheirOwn) {
  const GpuClock clock({base(1, 0, 2 * kUs, 0, 0), base(2, 50 * kMs, 50 * kMs + 2 * kUs, 0, 1),
                        base(3, 100 * kMs, 100 * kMs + 2 * kUs, 100 * kMs, 0)});
  EXPECT_NEAR(clock.host_ns(2, kMs).value(), 51 * kMs + kUs, 2 * kUs);
  EXPECT_NEAR(clock.host_ns(3, kMs).value(), 101 * kMs + kUs, 2 * kUs);
  EXPECT_EQ(clock.device_of(2), 1u);
  EXPECT_EQ(clock.device_of(3), 0u);
}

TEST(GpuClocks, ARateThatNoClockHasIsNotBelieved) {
  // The second base says that the device's clock ran twice as fast.
  const GpuClock clock({base(1, 0, 2 * kUs, 0), base(2, kSecond, kSecond + 2 * kUs, 2 * kSecond)});
  const double first_ns = clock.host_ns(1, 0).value();
  EXPECT_NEAR(clock.host_ns(1, 10 * kMs).value() - first_ns, 10 * kMs, 10 * kMs * 600e-6);
}

TEST(GpuClocks, AnEventInAnEmptyStreamIsReachedAsSoonAsUndisturbedOnesAre) {
  std::vector<GpuClockBase> bases;
  for (std::uint64_t i = 0; i < 20; ++i) {
    bases.push_back(
        base(i + 1, static_cast<double>(i) * kMs, static_cast<double>(i) * kMs + 2 * kUs, i == 0 ? 0 : kMs));
    bases.back().waited_ns = i % 2 == 0 ? 4 * kUs : 60 * kUs;  // the thread lost its CPU
  }
  EXPECT_NEAR(GpuClock(bases).empty_event_ns(), 3 * kUs, 1);
}

}  // namespace
}  // namespace hostprobe::analysis
