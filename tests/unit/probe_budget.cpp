// When detail is shed and when it is given back: probe/budget.cpp, on costs made up window by window.
#include <gtest/gtest.h>

#include <initializer_list>

#include "probe/control/budget.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kBudget = 500;  // half a percent

// The level after so many windows of that cost.
std::uint32_t after(Shedding& s, int windows, std::uint64_t cost, std::uint64_t budget = kBudget) {
  while (windows-- > 0) weigh(s, cost, budget);
  return s.level;
}

// Windows until the level changes.
int windows_to_change(Shedding& s, std::uint64_t cost) {
  for (int i = 1; i < 10000; ++i)
    if (weigh(s, cost, kBudget)) return i;
  return 0;
}

TEST(Budget, SwitchesGoFirstWhereTheyWeighAndComeBackLast) {
  Shedding s;
  s.switches_weigh = true;
  EXPECT_EQ(after(s, 3, 501), kShedSwitches);
  EXPECT_TRUE(s.sheds_switches);
  EXPECT_EQ(after(s, 3, 501), kShedStacks);
  EXPECT_EQ(after(s, 30, 249), kShedSwitches);
  EXPECT_EQ(after(s, 30, 249), kShedNothing);
  EXPECT_FALSE(s.sheds_switches);
}

TEST(Budget, SwitchesThatCostLittleAreNeverShed) {
  Shedding s;
  EXPECT_EQ(after(s, 9, 501), kShedLaunches);
  EXPECT_FALSE(s.sheds_switches);
  EXPECT_EQ(after(s, 60, 249), kShedStacks);
  EXPECT_EQ(after(s, 30, 249), kShedNothing) << "they have no level";
}

TEST(Budget, SwitchesThatWeighLaterGoBeforeAnythingElse) {
  Shedding s;
  EXPECT_EQ(after(s, 3, 501), kShedStacks);
  s.switches_weigh = true;
  EXPECT_EQ(after(s, 3, 501), kShedStacks);
  EXPECT_TRUE(s.sheds_switches);
  EXPECT_EQ(after(s, 3, 501), kShedShortWaits);
  EXPECT_EQ(after(s, 60, 249), kShedSwitches);
  EXPECT_TRUE(s.sheds_switches);
  EXPECT_EQ(after(s, 30, 249), kShedNothing);
  EXPECT_FALSE(s.sheds_switches);
}

TEST(Budget, SwitchesThatWeighAreShedAtTheLastLevelToo) {
  Shedding s;
  after(s, 3, 3000);
  EXPECT_EQ(s.level, kShedLaunches);
  s.switches_weigh = true;
  EXPECT_EQ(windows_to_change(s, 501), 3);
  EXPECT_TRUE(s.sheds_switches);
  EXPECT_EQ(windows_to_change(s, 501), 0) << "there is nothing left";
}

TEST(Budget, WhatStaysOverItShedsOneLevelAfterTheOther) {
  Shedding s;
  EXPECT_EQ(after(s, 2, 501), kShedNothing);
  EXPECT_EQ(after(s, 1, 501), kShedStacks);
  EXPECT_EQ(after(s, 3, 501), kShedShortWaits);
  EXPECT_EQ(after(s, 3, 501), kShedLaunches);
  EXPECT_EQ(after(s, 100, 501), kShedLaunches);
}

TEST(Budget, WhatIsFarOverItShedsAtOnce) {
  Shedding s;
  EXPECT_EQ(after(s, 1, 2001), kShedStacks);
  EXPECT_EQ(after(s, 2, 2001), kShedLaunches);
}

TEST(Budget, AFewWindowsOverItDoNothing) {
  Shedding s;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(after(s, 2, 600), kShedNothing);
    EXPECT_EQ(after(s, 1, 500), kShedNothing);
  }
}

TEST(Budget, WhatStaysWellBelowItIsGivenBackLevelByLevel) {
  Shedding s;
  after(s, 3, 3000);
  EXPECT_EQ(after(s, 29, 249), kShedLaunches);
  EXPECT_EQ(after(s, 1, 249), kShedShortWaits);
  EXPECT_EQ(after(s, 30, 249), kShedStacks);
  EXPECT_EQ(after(s, 30, 0), kShedNothing);
  EXPECT_EQ(after(s, 100, 0), kShedNothing);
}

TEST(Budget, BetweenHalfAndAllOfItNothingChanges) {
  Shedding s;
  after(s, 2, 3000);
  EXPECT_EQ(after(s, 1000, 250), kShedShortWaits);
  EXPECT_EQ(after(s, 1000, 500), kShedShortWaits);
  after(s, 29, 100);
  after(s, 1, 300);
  EXPECT_EQ(after(s, 29, 100), kShedShortWaits) << "the windows must be in a row";
}

// A level that costs too much without, and next to nothing with: the more often, the rarer it is tried.
TEST(Budget, ALevelThatComesAndGoesIsTriedLessAndLessOften) {
  Shedding s;
  after(s, 3, 3000);
  int last = 0;
  for (int i = 0; i < 5; ++i) {
    const int tried = windows_to_change(s, 100);
    EXPECT_GT(tried, last);
    last = tried;
    EXPECT_EQ(s.level, kShedShortWaits);
    EXPECT_EQ(windows_to_change(s, 600), 3);
    EXPECT_EQ(s.level, kShedLaunches);
  }
  for (int i = 0; i < 5; ++i) windows_to_change(s, 100), windows_to_change(s, 600);
  EXPECT_EQ(windows_to_change(s, 100), static_cast<int>(Shedding::kLongest));
}

constexpr std::uint64_t kSecond = 1000000000;

// Second by second, what each cost in ticks of a thousandth of it.
std::uint64_t window_cost(CostWindow& window, std::initializer_list<int> seconds) {
  for (const int cost : seconds) {
    CostReading next = window.count == 0 ? CostReading{kSecond, kSecond, 0, 0} : window.readings[window.count - 1];
    next.ns += kSecond;
    next.ticks += kSecond;
    next.own_ticks += 1e6 * cost;
    window.add(next);
  }
  return window.cost();
}

// 3 % in one second and 0.1 % in the others are 0.4 %.
TEST(Budget, OneLoudSecondOfAQuietRunDecidesNothing) {
  CostWindow window;
  EXPECT_EQ(window_cost(window, {0, 1, 1, 1, 1, 1, 30, 1, 1, 1, 1}), 390u);
  EXPECT_EQ(window_cost(window, {1, 1, 1, 1, 1}), 390u);
  EXPECT_EQ(window_cost(window, {1}), 100u) << "ten seconds later it is forgotten";
}

TEST(Budget, LessThanThreeSecondsDecideNothing) {
  CostWindow window;
  window_cost(window, {0, 90, 90});
  EXPECT_FALSE(window.is_long_enough(kShedNothing));
  EXPECT_TRUE(window.is_long_enough(kShedStacks));
  EXPECT_EQ(window_cost(window, {90}), 9000u);
  EXPECT_TRUE(window.is_long_enough(kShedNothing));
}

TEST(Budget, NoLimitShedsNothingAndGivesBackWhatWasShed) {
  Shedding s;
  EXPECT_EQ(after(s, 100, 100000, 0), kShedNothing);
  after(s, 3, 100000);
  EXPECT_EQ(after(s, 1, 100000, 0), kShedShortWaits);
  EXPECT_EQ(after(s, 2, 100000, 0), kShedNothing);
}

TEST(Budget, TheSmallestOneIsALimitToo) {
  Shedding s;
  EXPECT_EQ(after(s, 10, 0, 1), kShedNothing);
  EXPECT_EQ(after(s, 3, 2, 1), kShedStacks);
}

}  // namespace
}  // namespace hostprobe::probe
