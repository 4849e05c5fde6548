// What a thread did with its life, each instant once: analysis/measures/thread_time.cpp
#include <gtest/gtest.h>

#include <random>

#include "analysis/measures/thread_time.h"

namespace hostprobe::analysis {
namespace {

ThreadTime measured(double wall_ms, double cpu_ms, double run_delay_ms) {
  ThreadTime time;
  time.wall_ms = wall_ms;
  time.cpu_ms = cpu_ms;
  time.run_delay_ms = run_delay_ms;
  return time;
}

double sum(const ThreadTime& time) {
  return time.cpu_ms.value_or(0) + time.preempted_ms.value_or(0) + time.run_queue_ms.value_or(0) + time.wait_ms +
         time.unexplained_ms;
}

TEST(ThreadTime, SumsToItsWallTimeWhateverWasMeasured) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> ms(0, 1000);
  for (int i = 0; i < 10'000; ++i) {
    ThreadTime given = measured(ms(random), ms(random), ms(random));
    if (i % 3 == 0) given.run_delay_ms.reset();
    if (i % 6 == 0) given.cpu_ms.reset();
    const double blocked_ms = ms(random), woken_ms = std::min(blocked_ms, ms(random));
    const ThreadTime time = attribute_time(given, {blocked_ms, woken_ms, std::min(woken_ms, ms(random))});
    EXPECT_NEAR(sum(time), time.wall_ms, 1e-6);
    EXPECT_GE(time.wall_ms, given.wall_ms);
    for (const double part :
         {time.preempted_ms.value_or(0), time.run_queue_ms.value_or(0), time.wait_ms, time.unexplained_ms})
      EXPECT_GE(part, 0);
  }
}

ThreadTime by_switches(double wall_ms, double cpu_ms, double run_delay_ms, double preempted_ms) {
  ThreadTime time = measured(wall_ms, cpu_ms, run_delay_ms);
  time.preempted_ms = preempted_ms;
  time.from_switches = true;
  return time;
}

TEST(ThreadTime, SwitchesTellPreemptedTimeAndTheRestOfTheDelayIsBehindWakes) {
  const ThreadTime time = attribute_time(by_switches(1000, 300, 400, 150), {550, 0, 0});
  EXPECT_DOUBLE_EQ(time.preempted_ms.value(), 150);
  EXPECT_DOUBLE_EQ(time.run_queue_ms.value(), 250);
  EXPECT_NEAR(time.wait_ms, 300, 1e-9);
  EXPECT_NEAR(time.unexplained_ms, 0, 1e-9);
}

TEST(ThreadTime, DelayBehindSleepsThatNobodyRecordsIsNotTakenFromTheWaits) {
  const ThreadTime time = attribute_time(by_switches(1000, 100, 300, 0), {200, 200, 50, 40});
  EXPECT_DOUBLE_EQ(time.run_queue_ms.value(), 300);
  EXPECT_NEAR(time.wait_ms, 160, 1e-9);
  EXPECT_NEAR(sum(time), 1000, 1e-6);
}

TEST(ThreadTime, AThreadThatNeverWaitsAndHasNoCpuWasPreempted) {
  const ThreadTime time = attribute_time(measured(1000, 500, 490), {});
  EXPECT_NEAR(time.preempted_ms.value(), 490, 1e-9);
  EXPECT_DOUBLE_EQ(time.run_queue_ms.value(), 0);
  EXPECT_NEAR(time.unexplained_ms, 10, 1e-9);
}

TEST(ThreadTime, DelayBehindAKnownWakeIsNotTheWaitsOwn) {
  const ThreadTime time = attribute_time(measured(1000, 100, 300), {900, 900, 300});
  EXPECT_DOUBLE_EQ(time.run_queue_ms.value(), 300);
  EXPECT_NEAR(time.preempted_ms.value(), 0, 1e-9);
  EXPECT_DOUBLE_EQ(time.wait_ms, 600);
}

TEST(ThreadTime, DelayThatHasRoomOnlyInWaitsIsBehindTheirWakes) {
  const ThreadTime time = attribute_time(measured(1000, 50, 840), {980, 0, 0});
  EXPECT_NEAR(time.run_queue_ms.value(), 840, 1e-9);
  EXPECT_NEAR(time.wait_ms, 110, 1e-9);
}

TEST(ThreadTime, PreemptionThatCannotBeToldFromLateWakesIsNull) {
  const ThreadTime time = attribute_time(measured(1000, 200, 300), {400, 0, 0});
  EXPECT_FALSE(time.preempted_ms);
  EXPECT_DOUBLE_EQ(time.run_queue_ms.value(), 0);
  EXPECT_DOUBLE_EQ(time.wait_ms, 400);
  EXPECT_DOUBLE_EQ(time.unexplained_ms, 400);
  EXPECT_DOUBLE_EQ(time.run_delay_ms.value(), 300);
}

TEST(ThreadTime, WaitsThatRanMeanwhileGiveWay) {
  const ThreadTime time = attribute_time(measured(1000, 700, 0), {600, 0, 0});
  EXPECT_DOUBLE_EQ(time.wait_ms, 300);
  EXPECT_DOUBLE_EQ(time.unexplained_ms, 0);
}

TEST(ThreadTime, OfAThreadThatRanBeforeItWasSeenIsAsLongAsItRan) {
  EXPECT_DOUBLE_EQ(attribute_time(measured(10, 15, 5), {}).wall_ms, 20);
  const ThreadTime unknown = attribute_time(measured(0, 15, 5), {7, 0, 0});
  EXPECT_DOUBLE_EQ(unknown.wall_ms, 0);
  EXPECT_DOUBLE_EQ(unknown.wait_ms, 7);
}

}  // namespace
}  // namespace hostprobe::analysis
