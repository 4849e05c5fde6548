// The share of launches that found their stream empty, and how sure it is.
#include <gtest/gtest.h>

#include "analysis/measures/queue_samples.h"

#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

class QueueSampleTest : public testing::Test {
 protected:
  static void add(QueueSamples& samples, bool empty, std::uint64_t count, bool counted = false) {
    Function function;
    function.traits = kSamplesQueue;
    Event event;
    event.set_function(&function);
    event.found_empty = empty;
    event.count = count;
    event.counted = counted;
    samples.add(event);
  }
  Trace trace_;
  Symbols symbols_;
  Timeline timeline_{trace_, symbols_};
  QueueSamples samples_{timeline_};
};

TEST_F(QueueSampleTest, WithoutSamplesThereIsNoAnswer) { EXPECT_FALSE(samples_.finish()); }

TEST_F(QueueSampleTest, OtherCallsAreNoSamples) {
  Function launch;
  launch.traits = kLaunches;
  Event event;
  event.set_function(&launch);
  samples_.add(event);
  EXPECT_FALSE(samples_.finish());
}

// Wilson's interval for 30 of 100, as tables have it.
TEST_F(QueueSampleTest, TheShareHasItsInterval) {
  add(samples_, true, 30);
  add(samples_, false, 70);
  const QueueAnswer answer = *samples_.finish();
  EXPECT_EQ(answer.samples, 100u);
  EXPECT_EQ(answer.empty, 30u);
  EXPECT_DOUBLE_EQ(answer.share_pct, 30);
  EXPECT_NEAR(answer.low_pct, 21.89, 0.01);
  EXPECT_NEAR(answer.high_pct, 39.58, 0.01);
}

TEST_F(QueueSampleTest, WhereEverySampleSaysTheSameTheIntervalStillHasAWidth) {
  add(samples_, true, 50);
  EXPECT_EQ(samples_.finish()->high_pct, 100);
  EXPECT_NEAR(samples_.finish()->low_pct, 92.87, 0.01);
  QueueSamples one(timeline_);
  add(one, false, 1);
  EXPECT_EQ(one.finish()->low_pct, 0);
  EXPECT_NEAR(one.finish()->high_pct, 79.35, 0.01);
}

TEST_F(QueueSampleTest, PartsAddUpAndARecordThatACounterCountsIsLeftOut) {
  QueueSamples other(timeline_);
  add(samples_, true, 1);
  add(samples_, true, 1, true);
  add(other, false, 3);
  samples_.merge(other);
  EXPECT_EQ(samples_.finish()->samples, 4u);
  EXPECT_EQ(samples_.finish()->share_pct, 25);
}

}  // namespace
}  // namespace hostprobe::analysis
