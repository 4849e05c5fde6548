// Which threads switch too often for records of it: probe/sources/perf/{switch_rates.cpp, switch_holes.h}.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "probe/sources/perf/switch_holes.h"
#include "probe/sources/perf/switch_rates.h"

namespace hostprobe::probe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kMs = 1000000;
constexpr std::uint32_t kMain = 1, kRecording = 2, kBystander = 3;

double weight_of(std::uint32_t tid) { return tid == kMain ? 4 : tid == kRecording ? 2 : 1; }

using Absence = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;

class Rates : public testing::Test {
 protected:
  Rates() { EXPECT_TRUE(rates_.open(1)); }
  ~Rates() override { rates_.close(); }
  RateMoment now() const { return {now_ns_, now_ns_ / 10}; }
  // One look each 50 ms, in which each of the threads switches that often a second. Until when it was not left out.
  void pass(std::uint64_t ms, const std::vector<std::uint32_t>& tids, double a_second) {
    for (std::uint64_t end_ns = now_ns_ + ms * kMs; now_ns_ < end_ns;) {
      now_ns_ += 50 * kMs;
      for (const std::uint32_t tid : tids) {
        runs_ += a_second / 20;
        if (!rates_.is_left_out(tid)) rates_.add(tid, a_second / 20), recorded_ += a_second / 20;
      }
      rates_.look(now(), weight_of);
    }
  }
  // The kernel's counts, once a second.
  void note(std::uint32_t tid, std::uint64_t seconds, std::uint64_t a_second) {
    for (std::uint64_t i = 0; i < seconds; ++i) {
      pass(1000, {}, 0);
      rates_.note_runs(tid, noted_ += a_second, now_ns_);
    }
  }
  std::vector<std::uint32_t> taken_back() {
    std::vector<std::uint32_t> tids;
    rates_.take_back(now(), [&](std::uint32_t tid) { return tids.push_back(tid), true; });
    return tids;
  }
  std::vector<Absence> absences(std::uint64_t from_ticks = 0) const {
    std::vector<Absence> all;
    rates_.each_absence(from_ticks, [&](auto tid, auto since, auto until) { all.emplace_back(tid, since, until); });
    return all;
  }
  SwitchRates rates_{};
  std::uint64_t now_ns_ = 1000 * kMs, noted_ = 1000;
  double runs_ = 0, recorded_ = 0;
};

TEST_F(Rates, AThreadThatSwitchesTooOftenIsOutWithinATenthOfASecond) {
  pass(100, {kBystander}, 400000);
  EXPECT_TRUE(rates_.is_left_out(kBystander));
  EXPECT_EQ(rates_.left_out(), 1u);
  EXPECT_LE(recorded_, 400000 / 20) << "one look";
}

TEST_F(Rates, AThreadBelowTheRateStaysForEver) {
  pass(600000, {kBystander}, SwitchRates::kMostASecond * 0.99);
  EXPECT_EQ(rates_.left_out(), 0u);
}

TEST_F(Rates, AThreadALittleAboveTheRateIsOutInTheEnd) {
  pass(60000, {kBystander}, SwitchRates::kMostASecond * 1.1);
  EXPECT_TRUE(rates_.is_left_out(kBystander));
}

TEST_F(Rates, AShortBurstPasses) {
  rates_.add(kBystander, SwitchRates::kMostASecond * SwitchRates::kBurstS * 0.9);
  pass(50, {}, 0);
  pass(1000, {}, 0);
  rates_.add(kBystander, SwitchRates::kMostASecond * SwitchRates::kBurstS * 0.9);
  pass(50, {}, 0);
  EXPECT_EQ(rates_.left_out(), 0u);
}

TEST_F(Rates, ThreadsThatMakeStepsAndThoseThatRecordMayHaveMore) {
  pass(5000, {kMain, kRecording, kBystander}, SwitchRates::kMostASecond * 1.5);
  EXPECT_FALSE(rates_.is_left_out(kMain));
  EXPECT_FALSE(rates_.is_left_out(kRecording));
  EXPECT_TRUE(rates_.is_left_out(kBystander));
  pass(5000, {kMain, kRecording}, SwitchRates::kMostASecond * 3);
  EXPECT_FALSE(rates_.is_left_out(kMain));
  EXPECT_TRUE(rates_.is_left_out(kRecording));
  pass(100, {kMain}, 400000);
  EXPECT_TRUE(rates_.is_left_out(kMain)) << "nobody is above the limit";
}

TEST_F(Rates, ManyThreadsThatEachStayBelowAreHeldTogether) {
  std::vector<std::uint32_t> convoy = {kMain};
  for (std::uint32_t tid = 100; tid < 164; ++tid) convoy.push_back(tid);
  pass(100, convoy, SwitchRates::kMostASecond / 2);
  EXPECT_GE(rates_.left_out(), 45u);
  EXPECT_LE(rates_.left_out(), 60u);
  EXPECT_FALSE(rates_.is_left_out(kMain));
  const double before = recorded_;
  pass(10000, convoy, SwitchRates::kMostASecond / 2);
  EXPECT_LE(recorded_ - before, 10.2 * SwitchRates::kMostTogether);
}

TEST_F(Rates, ThousandsOfThreadsThatYieldAreHeldTogetherToo) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t tid = 1000; tid < 9000; ++tid) all.push_back(tid);
  pass(100, all, 1000);
  EXPECT_GE(rates_.left_out(), 2000u) << "as far as there are places";
  EXPECT_LE(rates_.left_out(), SwitchRates::kPlaces);
}

TEST_F(Rates, WhoHasCalmedDownComesBack) {
  pass(100, {kBystander}, 400000);
  note(kBystander, 5, 300000);
  EXPECT_FALSE(rates_.has_calm());
  EXPECT_THAT(taken_back(), IsEmpty());
  note(kBystander, 4, 10);
  EXPECT_TRUE(rates_.has_calm());
  EXPECT_THAT(taken_back(), ElementsAre(kBystander));
  EXPECT_EQ(rates_.left_out(), 0u);
  pass(1000, {kBystander}, 100);
  EXPECT_EQ(rates_.left_out(), 0u);
}

TEST_F(Rates, WhoCannotBeAttachedStaysOut) {
  pass(100, {kBystander}, 400000);
  note(kBystander, 5, 10);
  rates_.take_back(now(), [](std::uint32_t) { return false; });
  EXPECT_TRUE(rates_.is_left_out(kBystander));
  EXPECT_THAT(taken_back(), ElementsAre(kBystander));
}

TEST_F(Rates, AThreadThatComesAndGoesIsTriedMoreAndMoreSeldom) {
  unsigned tries = 0;
  for (int second = 0; second < 300; ++second) {
    pass(100, {kBystander}, rates_.is_left_out(kBystander) ? 0 : 400000);
    note(kBystander, 1, 10);
    tries += !taken_back().empty();
  }
  EXPECT_GE(tries, 3u);
  EXPECT_LE(tries, 12u);
}

TEST_F(Rates, AbsencesAreToldUntilTheyAreInTheFile) {
  pass(100, {kBystander}, 400000);
  const std::uint64_t since = now_ns_ / 10 - 5 * kMs;  // at the first look
  EXPECT_THAT(absences(), ElementsAre(Absence{kBystander, since, 0}));
  note(kBystander, 5, 10);
  taken_back();
  const std::uint64_t until = now_ns_ / 10;
  EXPECT_THAT(absences(), ElementsAre(Absence{kBystander, since, until}));
  EXPECT_THAT(absences(until), IsEmpty());
  rates_.forget_absences(until - 1);
  EXPECT_THAT(absences(), ElementsAre(Absence{kBystander, since, until}));
  rates_.forget_absences(until);
  EXPECT_THAT(absences(), IsEmpty());
}

TEST_F(Rates, TwoAbsencesThatAreNotInTheFileBecomeOne) {
  pass(100, {kBystander}, 400000);
  const std::uint64_t since = std::get<1>(absences().at(0));
  note(kBystander, 5, 10);
  taken_back();
  pass(100, {kBystander}, 400000);
  EXPECT_THAT(absences(), ElementsAre(Absence{kBystander, since, 0}));
}

TEST_F(Rates, WhatCouldNotBeAttachedIsToldAsAbsent) {
  rates_.leave_out(kBystander, 500, 900, now_ns_);
  EXPECT_FALSE(rates_.is_left_out(kBystander));
  EXPECT_THAT(absences(), ElementsAre(Absence{kBystander, 500, 900}));
  rates_.leave_out(kBystander, 1000, 0, now_ns_);
  EXPECT_TRUE(rates_.is_left_out(kBystander));
  EXPECT_THAT(absences(), ElementsAre(Absence{kBystander, 500, 0}));
}

TEST_F(Rates, ThreadsThatEndedMakeRoomForOthers) {
  for (std::uint32_t tid = 10; tid < 100000; tid += 10) pass(50, {tid, tid + 1, tid + 2}, 100);
  pass(100, {kBystander}, 400000);
  EXPECT_TRUE(rates_.is_left_out(kBystander));
}

TEST_F(Rates, AClockThatJumpsBackOrFarAheadHarmsNobody) {
  pass(200, {kBystander}, 500);
  now_ns_ -= 150 * kMs;
  pass(200, {kBystander}, 500);
  now_ns_ += 3600000 * kMs;
  pass(200, {kBystander}, 500);
  EXPECT_EQ(rates_.left_out(), 0u);
  pass(100, {kBystander}, 400000);
  EXPECT_TRUE(rates_.is_left_out(kBystander));
}

TEST(RatesOfABudget, GrowWithIt) {
  SwitchRates rates{};
  ASSERT_TRUE(rates.open(200));
  rates.add(kBystander, 10000);
  rates.look({1000 * kMs, 1}, weight_of);
  EXPECT_EQ(rates.left_out(), 0u);
  rates.close();
}

TEST(RatesOfABudget, OfNothingHoldNobody) {
  SwitchRates rates{};
  ASSERT_TRUE(rates.open(0));
  EXPECT_FALSE(rates.is_open());
  rates.add(kBystander, 1e9);
  EXPECT_FALSE(rates.look({1000 * kMs, 1}, weight_of));
  rates.leave_out(kBystander, 1, 0, 1);
  EXPECT_EQ(rates.left_out(), 0u);
  rates.close();
}

TEST(SwitchHoles, BecomeOneWhereThereAreTooMany) {
  SwitchHoles holes{};
  holes.close(1);
  EXPECT_FALSE(holes.is_open());
  for (std::uint64_t i = 1; i <= SwitchHoles::kMost + 2; ++i) {
    holes.open(10 * i);
    holes.open(10 * i + 1);
    holes.close(10 * i + 5);
  }
  EXPECT_FALSE(holes.is_open());
  EXPECT_EQ(holes.end() - holes.begin(), std::ptrdiff_t{SwitchHoles::kMost});
  EXPECT_EQ(holes.begin()->begin_ticks, 10u);
  EXPECT_EQ(holes.begin()->end_ticks, 35u);
  holes.open(1000);
  EXPECT_TRUE(holes.is_open());
  holes.forget(2000);
  EXPECT_EQ(holes.end() - holes.begin(), 1);
}

}  // namespace
}  // namespace hostprobe::probe
