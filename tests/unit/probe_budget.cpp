// When detail is shed and when it is given back: probe/budget.cpp, on costs made up window by window.
#include <gtest/gtest.h>

#include <initializer_list>

#include "probe/control/budget.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kBudget = 500;  // half a percent

// What a window costs the program's threads, of which every level but the switches is a part that is worth it.
struct Window {
  std::uint64_t threads = 0, budget = kBudget;
  bool switches = false;

  Load load() const {
    Cost cost{.threads = threads, .of_level = {0, switches ? 0.25 : 0.24, 0.3, 0.4, 0.3}};
    return load_of(cost, budget);
  }
};

// The level after so many windows of that cost.
std::uint32_t after(Shedding& s, int windows, const Window& window) {
  while (windows-- > 0) weigh(s, window.load());
  return s.level;
}
std::uint32_t after(Shedding& s, int windows, std::uint64_t cost) { return after(s, windows, Window{cost}); }

// Windows until the level changes.
int windows_to_change(Shedding& s, const Window& window) {
  for (int i = 1; i < 10000; ++i)
    if (weigh(s, window.load())) return i;
  return 0;
}
int windows_to_change(Shedding& s, std::uint64_t cost) { return windows_to_change(s, Window{cost}); }

Window with_switches(std::uint64_t cost) { return {.threads = cost, .switches = true}; }

TEST(Budget, SwitchesGoFirstWhereTheyWeighAndComeBackLast) {
  Shedding s;
  EXPECT_EQ(after(s, 3, with_switches(501)), kShedSwitches);
  EXPECT_TRUE(s.sheds_switches);
  EXPECT_EQ(after(s, 3, with_switches(501)), kShedStacks);
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
  EXPECT_EQ(after(s, 3, with_switches(501)), kShedStacks);
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
  EXPECT_EQ(windows_to_change(s, with_switches(501)), 3);
  EXPECT_TRUE(s.sheds_switches);
  EXPECT_EQ(windows_to_change(s, with_switches(501)), 0) << "there is nothing left";
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

// Nothing is given up for a cost that would stay: names of libraries, the kernel's counts, a thread of our own that only looks.
TEST(Budget, WhatWouldCostAsMuchWithoutShedsNothing) {
  Shedding s;
  const Load idle = load_of({.threads = 5000, .of_level = {0, 0.1, 0.2, 0.24, 0.2}}, kBudget);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(weigh(s, idle));
  const Load calls = load_of({.threads = 501, .of_level = {0, 0.1, 0.2, 0.5, 0.5}}, kBudget);
  for (int i = 0; i < 3; ++i) weigh(s, calls);
  EXPECT_EQ(s.level, kShedShortWaits) << "the level before it brings nothing";
}

// Our own thread may use what no thread of the program loses.
TEST(Budget, CpuTimeHasABoundOfItsOwn) {
  const double parts[kShedLevels] = {0, 0, 0, 0.5, 0.5};
  const auto load = [&](std::uint64_t threads, std::uint64_t cpu) {
    Cost cost{.threads = threads, .cpu = cpu};
    for (unsigned i = 0; i < kShedLevels; ++i) cost.of_level[i] = parts[i];
    return load_of(cost, kBudget);
  };
  Shedding s;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(weigh(s, load(400, 1000)));
  for (int i = 0; i < 3; ++i) weigh(s, load(0, 1003));
  EXPECT_EQ(s.level, kShedShortWaits);
}

constexpr std::uint64_t kSecond = 1000000000;

// Second by second, what each cost in ticks of a thousandth of it.
std::uint64_t window_cost(CostWindow& window, std::initializer_list<int> seconds) {
  for (const int cost : seconds) {
    CostReading next{.ns = kSecond, .ticks = kSecond};
    if (window.count != 0) next = window.readings[window.count - 1];
    next.ns += kSecond;
    next.ticks += kSecond;
    next.own_ticks += 1e6 * cost;
    window.add(next);
  }
  return window.cost().threads;
}

// A second in which threads spend 1 % on us, our thread another 2 %, 0.5 % of it on samples; the process uses two CPUs.
TEST(Budget, ACostIsOfThreadsOfOurOwnAndOfTheCpuTime) {
  CostReading from, to{.ns = kSecond,
                       .ticks = 2 * kSecond,
                       .own_ticks = 0.02 * kSecond,
                       .writer_ns = kSecond / 50,
                       .process_cpu_ns = 2 * kSecond};
  to.levels[kShedStacks] = {.ticks = 0.01 * kSecond, .own_ns = kSecond / 200};
  const Cost cost = cost_between(from, to);
  EXPECT_EQ(cost.threads, 1000u);
  EXPECT_EQ(cost.own_thread, 2000u);
  EXPECT_EQ(cost.cpu, 1500u);
  EXPECT_NEAR(cost.of_level[kShedStacks], 1 / 3., 1e-9);
  to.process_cpu_ns = kSecond / 10;
  EXPECT_EQ(cost_between(from, to).cpu, 3000u) << "of one CPU, where less was used";
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
  EXPECT_EQ(after(s, 100, {100000, 0}), kShedNothing);
  after(s, 3, 100000);
  EXPECT_EQ(after(s, 1, {100000, 0}), kShedShortWaits);
  EXPECT_EQ(after(s, 2, {100000, 0}), kShedNothing);
}

TEST(Budget, TheSmallestOneIsALimitToo) {
  Shedding s;
  EXPECT_EQ(after(s, 10, {0, 1}), kShedNothing);
  EXPECT_EQ(after(s, 3, {2, 1}), kShedStacks);
}

}  // namespace
}  // namespace hostprobe::probe
