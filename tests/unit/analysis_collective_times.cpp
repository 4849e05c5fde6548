// Collectives with GPU times, by size, and who is last beyond chance: analysis/ranks/collective_join.cpp,
// collective_sizes.cpp, collective_kernels.cpp, chance.cpp
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "analysis/ranks/chance.h"
#include "analysis/ranks/collective_join.h"
#include "analysis/ranks/collective_kernels.h"
#include "model/activity.h"
#include "report/json/json_collectives.h"
#include "report/json_text.h"

namespace hostprobe::analysis {
namespace {

CollectiveCall call(std::uint32_t sequence, std::int32_t rank, std::uint64_t begin_ns, std::uint64_t bytes = 1024) {
  CollectiveCall one{0xabc, sequence, rank, 2, -1, bytes, begin_ns, 5000, operation_name("ncclAllReduce")};
  return one;
}

CollectiveCall on_gpu(CollectiveCall one, std::uint64_t begin_ns, std::uint64_t end_ns) {
  one.gpu_begin_ns = begin_ns;
  one.gpu_end_ns = end_ns;
  return one;
}

using Calls = std::vector<CollectiveCall>;

std::vector<CollectiveAnswer> answer(const std::vector<Calls>& ranks, std::uint64_t steps = 0,
                                     const std::vector<HostClock>& clocks = {}) {
  std::vector<ProcessCollectives> own(ranks.size());
  std::vector<CollectiveMember> members;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (const CollectiveCall& one : ranks[i]) own[i].add(one);
    const auto source = [&calls = ranks[i], at = std::size_t{0}](CollectiveCall& one) mutable {
      if (at == calls.size()) return false;
      one = calls[at++];
      return true;
    };
    members.push_back({&own[i], clocks.empty() ? "one" : "host" + std::to_string(i), static_cast<int>(i), {source}});
    if (!clocks.empty()) members.back().clock = clocks[i];
  }
  return answer_collectives(members, steps);
}

TEST(CollectiveTimes, TransferRunsFromTheLastStartAndTheRestIsWaiting) {
  const auto answers =
      answer({{on_gpu(call(1, 0, 100, 1 << 20), 1000, 61'000)}, {on_gpu(call(1, 1, 100, 1 << 20), 41'000, 61'500)}});
  const CollectiveSize& size = answers[0].sizes.at(size_class(1 << 20));
  EXPECT_EQ(size.gpu.count(), 2u);
  EXPECT_EQ(size.gpu.max_ns(), 60'000);
  EXPECT_EQ(size.transfer.max_ns(), 20'500);
  EXPECT_EQ(answers[0].gpu_wait.max_ns(), 40'000);
  EXPECT_EQ(answers[0].gpu_wait.min_ns(), 0);
  const auto json = nlohmann::json::parse(json_text(collectives_json(answers), -1))[0];
  EXPECT_NEAR(json["bus_gb_s"].get<double>(), (1 << 20) / 20'500.0, 1e-9) << "all-reduce of two: 2 × 1/2 of its bytes";
  EXPECT_EQ(json["sizes"][0]["source"], "gpu");
}

TEST(CollectiveTimes, BusBandwidthCountsBytesAsNcclTestsDoes) {
  EXPECT_DOUBLE_EQ(bus_bytes("AllReduce", 800, 8), 2 * 800 * 7 / 8.0);
  EXPECT_DOUBLE_EQ(bus_bytes("AllGather", 100, 8), 700);
  EXPECT_DOUBLE_EQ(bus_bytes("ReduceScatter", 100, 8), 700);
  EXPECT_DOUBLE_EQ(bus_bytes("AlltoAll", 100, 8), 700);
  EXPECT_DOUBLE_EQ(bus_bytes("Broadcast", 100, 8), 100);
  EXPECT_DOUBLE_EQ(bus_bytes("Reduce", 100, 8), 100);
  EXPECT_DOUBLE_EQ(bus_bytes("AllReduce", 100, 0), 0);
}

TEST(CollectiveTimes, SharesOfAllSizesSumToAHundred) {
  Calls first, second;
  for (std::uint32_t i = 1; i <= 100; ++i) {
    first.push_back(call(i, 0, i * 1000, 1u << (i % 20)));
    second.push_back(call(i, 1, i * 1000 + 3, 1u << (i % 20)));
  }
  const auto json = nlohmann::json::parse(json_text(collectives_json(answer({first, second})), -1));
  double share = 0;
  std::uint64_t count = 0;
  for (const auto& size : json[0]["sizes"]) {
    share += size["share_pct"].get<double>();
    count += size["count"].get<std::uint64_t>();
    EXPECT_EQ(size["source"], "host");
    EXPECT_TRUE(size["bus_gb_s"].is_null());
    EXPECT_LT(size["from_bytes"].get<std::uint64_t>(), size["below_bytes"].get<std::uint64_t>());
  }
  EXPECT_NEAR(share, 100, 1e-9);
  EXPECT_EQ(count, 200u);
}

TEST(CollectiveTimes, ClassesArePowersOfFourWithoutGaps) {
  EXPECT_EQ(size_class(0), kNoBytes);
  for (int i = 0; i < 31; ++i) {
    EXPECT_EQ(size_class(least_bytes(i)), i);
    EXPECT_EQ(size_class(next_least_bytes(i) - 1), i);
    EXPECT_EQ(next_least_bytes(i), least_bytes(i + 1));
  }
  EXPECT_EQ(size_class(UINT64_MAX), 31);
}

TEST(CollectiveTimes, AKernelThatAGroupSharesGivesNoBandwidth) {
  Calls ranks[2] = {{on_gpu(call(1, 0, 100), 1000, 2000)}, {on_gpu(call(1, 1, 100), 1000, 2000)}};
  for (Calls& calls : ranks) calls[0].shares_kernel = true;
  EXPECT_TRUE(collectives_json(answer({ranks[0], ranks[1]}))[0]["bus_gb_s"].is_null());
}

TEST(CollectiveTimes, OfAlignedHostsAreComparedOnOneAxis) {
  HostClock clock;
  clock.offset_ns = 1'000'000;
  clock.error_ns = 50;
  const auto answers = answer({{call(1, 0, 5'000'000)}, {call(1, 1, 6'000'400)}}, 0, {HostClock{}, clock});
  EXPECT_EQ(answers[0].skew.max_ns(), 400);
  EXPECT_EQ(answers[0].last_rank, 1);
}

// ---- who is last ----

Calls rank_calls(std::int32_t rank, const std::vector<int>& last, std::uint64_t late_ns = 1000) {
  Calls calls;
  for (std::uint32_t i = 0; i < last.size(); ++i)
    calls.push_back(call(i + 1, rank, 1'000'000ull * (i + 1) + (last[i] == rank ? late_ns : 0)));
  return calls;
}

CollectiveAnswer with_last(const std::vector<int>& last, std::uint64_t steps = 0) {
  return answer({rank_calls(0, last), rank_calls(1, last)}, steps)[0];
}

TEST(CollectiveTimes, ARankThatIsNearlyAlwaysLastIsBeyondChance) {
  std::vector<int> last(200, 1);
  for (std::size_t i = 0; i < last.size(); i += 10) last[i] = 0;
  const CollectiveAnswer one = with_last(last);
  EXPECT_TRUE(one.last_beyond_chance);
  EXPECT_EQ(one.last_rank, 1);
  EXPECT_EQ(one.last_late.max_ns(), 1000);
  EXPECT_EQ(one.last_late.count(), 180u);
}

TEST(CollectiveTimes, ByTheTossOfACoinNobodyIs) {
  int told = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<int> last;
    for (int i = 0; i < 200; ++i) last.push_back(static_cast<int>(random() % 2));
    told += with_last(last).last_beyond_chance;
  }
  EXPECT_LE(told, 4);
}

// Forty operations a step, and in each step the rank that is late is late in all of them: five coins, not two hundred.
TEST(CollectiveTimes, OperationsOfOneStepCountOnce) {
  std::vector<int> last;
  for (const int who : {1, 1, 0, 1, 1})
    for (int i = 0; i < 40; ++i) last.push_back(who);
  EXPECT_FALSE(with_last(last).last_beyond_chance);
  EXPECT_FALSE(with_last(std::vector<int>(200, 1), 3).last_beyond_chance) << "three steps";
  EXPECT_TRUE(with_last(std::vector<int>(200, 1), 100).last_beyond_chance);
}

TEST(CollectiveTimes, NobodyIsLaterThanTheClocksAreWrong) {
  std::vector<HostClock> clocks(2);
  clocks[1].error_ns = 5000;
  const std::vector<int> last(200, 1);
  EXPECT_FALSE(answer({rank_calls(0, last), rank_calls(1, last)}, 0, clocks)[0].last_beyond_chance);
  EXPECT_TRUE(answer({rank_calls(0, last, 9000), rank_calls(1, last, 9000)}, 0, clocks)[0].last_beyond_chance);
}

TEST(CollectiveTimes, ChanceIsThatOfTheBinomialDistribution) {
  EXPECT_NEAR(chance_of_as_many(10, 10, 0.5), 1 / 1024.0, 1e-12);
  EXPECT_NEAR(chance_of_as_many(9, 10, 0.5), 11 / 1024.0, 1e-12);
  EXPECT_NEAR(chance_of_as_many(1, 3, 0.25), 1 - 27 / 64.0, 1e-12);
  EXPECT_DOUBLE_EQ(chance_of_as_many(0, 10, 0.5), 1);
  EXPECT_NEAR(chance_of_as_many(5100, 10000, 0.5), 0.0233, 0.001);
  EXPECT_DOUBLE_EQ(chance_of_as_many(3, 10, 1), 1);
  EXPECT_DOUBLE_EQ(chance_of_as_many(3, 10, 0), 0);
}

// ---- kernels ----

TEST(CollectiveKernels, AreThoseThatTheThreadLaunchedMeanwhile) {
  DeviceTimeline device;
  const auto add = [&device](bool collective, std::uint32_t tid, double launch_ns, double begin_ns) {
    Activity activity;
    activity.collective = collective;
    activity.launch_tid = tid;
    activity.launch_ns = launch_ns;
    activity.begin_ns = begin_ns;
    activity.end_ns = begin_ns + 100;
    device.activities.push_back(activity);
  };
  add(true, 5, 1000, 5000);
  add(true, 5, 1010, 5200);
  add(false, 5, 1020, 9000);
  add(true, 6, 1000, 7000);
  const CollectiveKernels kernels(device);
  const auto span = kernels.launched_in(5, 1000, 1500);
  ASSERT_TRUE(span);
  EXPECT_EQ(span->begin_ns, 5000);
  EXPECT_EQ(span->end_ns, 5300);
  EXPECT_FALSE(kernels.launched_in(5, 1011, 1500));
  EXPECT_FALSE(kernels.launched_in(7, 0, 1e9));
  EXPECT_TRUE(CollectiveKernels(DeviceTimeline{}).empty());
}

}  // namespace
}  // namespace hostprobe::analysis
