// Clocks of hosts with planted errors, seen through noisy collectives: model/host_clocks.cpp,
// analysis/ranks/host_alignment.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/ranks/host_alignment.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kBegin = 1'000'000'000'000;  // 1000 s after boot

// A clock as a simulated host has it: wrong by an offset, and by a drift that counts from boot.
struct Clock {
  double offset_ns = 0, ppm = 0;
  std::uint64_t at(double true_ns) const {
    return static_cast<std::uint64_t>(std::llround(true_ns * (1 + ppm * 1e-6) + offset_ns));
  }
  double true_at(double own_ns) const { return (own_ns - offset_ns) / (1 + ppm * 1e-6); }
};

struct Job {
  std::vector<Clock> clocks;
  double seconds = 3;
  std::uint32_t collectives = 300;
  double transfer_ns = 20'000;   // from the last arrival to the end
  double late_return_ns = 3000;  // mean delay until the host knows
  double stalled = 0.1;          // share of waits that return a millisecond late
  std::uint64_t seed = 1;
  std::size_t skipped = SIZE_MAX;  // a host that is in no collective with the first one
};

std::vector<ProcessEnds> ends_of(const Job& job) {
  std::mt19937_64 random(job.seed);
  std::exponential_distribution<double> late(1 / job.late_return_ns);
  std::uniform_real_distribution<double> even(0, 1);
  std::vector<ProcessEnds> hosts(job.clocks.size());
  for (std::size_t host = 0; host < hosts.size(); ++host) hosts[host].host = "host" + std::to_string(host);
  for (std::uint32_t i = 1; i <= job.collectives; ++i) {
    const double begin = double{kBegin} + 1e9 * job.seconds * i / job.collectives;
    std::vector<double> arrivals;
    for (std::size_t host = 0; host < hosts.size(); ++host) arrivals.push_back(begin + 500'000 * even(random));
    const double end = *std::max_element(arrivals.begin(), arrivals.end()) + job.transfer_ns * (1 + 0.2 * even(random));
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      if (i % 2 == 0 && host == job.skipped) continue;
      if (i % 2 == 1 && job.skipped != SIZE_MAX && host == 0) continue;
      const double known = end + late(random) + (even(random) < job.stalled ? 1e6 : 0);
      hosts[host].ends.push_back({7, i, false, job.clocks[host].at(arrivals[host]), job.clocks[host].at(known)});
    }
  }
  return hosts;
}

// The worst that the clock of a host is told wrongly, against that of host 0, between the first and the last collective.
double error_ns(const Job& job, const std::map<std::string, HostClock>& found, std::size_t host) {
  const HostClock& clock = found.at("host" + std::to_string(host));
  double worst = 0;
  for (const double s : {0.02, 0.5, 0.98}) {
    const double true_ns = double{kBegin} + 1e9 * job.seconds * s;
    const std::uint64_t own = job.clocks[host].at(true_ns), reference = job.clocks[0].at(true_ns);
    worst =
        std::max(worst, std::abs(static_cast<double>(static_cast<std::int64_t>(clock.to_reference(own) - reference))));
  }
  return worst;
}

TEST(HostClocks, AShiftedAndStretchedClockIsToldToTenMicrosecondsAndTheBoundHolds) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Job job{.clocks = {{}, {100e6, 50}}, .late_return_ns = 1000, .seed = seed};
    const auto found = align_hosts(ends_of(job), 0);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_LE(error_ns(job, found, 1), 10'000) << "seed " << seed;
    EXPECT_LE(error_ns(job, found, 1), found.at("host1").error_ns) << "seed " << seed;
    EXPECT_LE(found.at("host1").error_ns, 10'000) << "seed " << seed;
    EXPECT_NEAR(found.at("host1").drift, 50e-6, 5e-6);
  }
}

TEST(HostClocks, TheBoundHoldsWhereNearlyEveryWaitReturnsLate) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Job job{.clocks = {{}, {-100e6, -50}}, .late_return_ns = 200'000, .stalled = 0.6, .seed = seed};
    const auto found = align_hosts(ends_of(job), 0);
    EXPECT_LE(error_ns(job, found, 1), found.at("host1").error_ns) << "seed " << seed;
  }
}

// Host 0 shares collectives with host 1 only, and host 1 with host 2.
TEST(HostClocks, AreChainedOverOthersAndTheirErrorsAddUp) {
  Job job{.clocks = {{}, {40e6, 20}, {-70e6, -30}}, .collectives = 600, .skipped = 2};
  auto ends = ends_of(job);
  const auto found = align_hosts(ends, 0);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_LE(error_ns(job, found, 2), 20'000);
  EXPECT_LE(error_ns(job, found, 2), found.at("host2").error_ns);
  EXPECT_GE(found.at("host2").error_ns, found.at("host1").error_ns);
}

TEST(HostClocks, TheReferenceIsExactAndItsTimesStayWhatTheyAre) {
  Job job{.clocks = {{}, {100e6, 50}}};
  const auto found = align_hosts(ends_of(job), 0);
  EXPECT_EQ(found.at("host0").error_ns, 0);
  EXPECT_EQ(found.at("host0").to_reference(kBegin + 17), kBegin + 17);
}

TEST(HostClocks, WithoutCommonCollectivesNothingIsSaid) {
  EXPECT_EQ(align_hosts({}, 0).size(), 0u);
  const auto alone = align_hosts({{"host0", {{7, 1, false, 10, 20}}}, {"host1", {{8, 1, false, 10, 20}}}}, 0);
  EXPECT_EQ(alone.size(), 1u);
  Job few{.clocks = {{}, {100e6, 50}}, .collectives = 3};
  EXPECT_EQ(align_hosts(ends_of(few), 0).size(), 1u);
}

// Somebody set it while the job ran: no straight line fits, and the error says so.
TEST(HostClocks, AClockThatJumpsHasAnErrorAsLargeAsTheJump) {
  Job job{.clocks = {{}, {0, 0}}};
  auto ends = ends_of(job);
  for (std::size_t i = 150; i < 300; ++i) {
    ends[1].ends[i].arrival_ns += 5'000'000;
    ends[1].ends[i].end_ns += 5'000'000;
  }
  const auto found = align_hosts(ends, 0);
  EXPECT_GE(found.at("host1").error_ns, 1'000'000);
}

TEST(HostClocks, ExactEndsAndReturnsOfWaitsAreNotMixed) {
  Job job{.clocks = {{}, {100e6, 50}}};
  auto ends = ends_of(job);
  for (auto& end : ends[1].ends) end.exact = true;
  EXPECT_EQ(align_hosts(ends, 0).size(), 1u);
}

TEST(HostClocks, DamagedTimesAreNoCrash) {
  Job job{.clocks = {{}, {100e6, 50}}};
  auto ends = ends_of(job);
  for (std::size_t i = 0; i < ends[1].ends.size(); i += 3) ends[1].ends[i] = {7, 1, false, UINT64_MAX, 0};
  const auto found = align_hosts(ends, 0);
  for (const auto& [host, clock] : found) EXPECT_FALSE(std::isnan(clock.error_ns));
  for (auto& end : ends[1].ends) end.end_ns = 5;
  for (const auto& [host, clock] : align_hosts(ends, 0)) EXPECT_FALSE(std::isnan(clock.error_ns));
}

}  // namespace
}  // namespace hostprobe::analysis
