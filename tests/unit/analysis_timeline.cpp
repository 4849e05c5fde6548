// Records and counters as typed events: model/timeline.cpp, function.cpp, window.h
#include "model/timeline.h"

#include <gtest/gtest.h>

#include "analysis/process.h"
#include "model/window.h"
#include "support/counters.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::TraceFile;

constexpr std::uint64_t kLibX = 0x100000;

class TimelineOf : public testing::Test {
 protected:
  TimelineOf() {
    file_.header.pid = 100;
    file_.hooks(
        {test::wait_hook("sem_wait"), test::launch_hook("cuLaunchKernel"), test::sync_hook("cuStreamSynchronize")});
    file_.module(kLibX, kLibX + 0x1000, "/x/libx.so");
  }
  void write() { file_.write(folder_.file("t.hptrace")); }
  std::vector<Event> events() {
    write();
    const Trace trace = read_trace(folder_.file("t.hptrace"));
    Symbols symbols;
    const Timeline timeline(trace, symbols);
    std::vector<Event> events;
    for (const Track& track : timeline.tracks())
      timeline.walk(track, [&](const Event& event) { events.push_back(event); });
    return events;
  }
  ProcessAnswer within(double begin_us, double end_us) {
    write();
    const Trace trace = read_trace(folder_.file("t.hptrace"));
    Symbols symbols;
    return analyse_process(Timeline(trace, symbols), symbols, 1, {}, Window{1000 * begin_us, 1000 * end_us});
  }
  TraceFile file_;
  test::TestFolder folder_;
};

TEST_F(TimelineOf, ARecordIsACallInNanosecondsWithItsWaker) {
  file_.thread(test::thread_entry(200, "waker"));
  file_.calls(100, 0,
              {{.hook = 1, .begin_us = 10, .end_us = 40, .b = pack_post(200, test::at_us(33)), .c = kLibX + 1}});
  const std::vector<Event> all = events();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].type, EventType::kCall);
  EXPECT_EQ(all[0].count, 1u);
  EXPECT_DOUBLE_EQ(all[0].begin_ns, 10'000);
  EXPECT_DOUBLE_EQ(all[0].duration_ns, 30'000);
  EXPECT_DOUBLE_EQ(all[0].wake_ns, 7'000);
  EXPECT_EQ(all[0].site, kLibX + 1);
}

TEST_F(TimelineOf, ACounterIsAnEventWithACountAndAHistogram) {
  file_.block(kBlockCounters,
              test::sums_row({.tid = 100, .hook = 1, .site = kLibX + 1, .counters = {{2000, 4000}, {600}}}));
  write();
  const Trace trace = read_trace(folder_.file("t.hptrace"));
  Symbols symbols;
  const Timeline timeline(trace, symbols);
  int seen = 0;
  timeline.walk(timeline.tracks().at(0), [&](const Event& event) {
    if (event.type != EventType::kCounter) return;
    ++seen;
    EXPECT_EQ(event.count, 2u);
    EXPECT_DOUBLE_EQ(event.duration_ns, 3000);
    ASSERT_NE(event.distribution, nullptr);
    EXPECT_EQ(event.distribution->time.count(), 2u);
    EXPECT_DOUBLE_EQ(event.distribution->time.max_ns(), 2000);
    EXPECT_EQ(event.distribution->wake.count(), 1u);
    EXPECT_FALSE(event.below_limit);
  });
  EXPECT_EQ(seen, 1);
}

TEST_F(TimelineOf, MissingRecordsAreAnEventInTheirPlace) {
  file_.thread(test::thread_entry(100, "main", 5));
  file_.calls(100, 0, {{.hook = 2, .begin_us = 10, .end_us = 11}});
  file_.calls(100, 4, {{.hook = 2, .begin_us = 50, .end_us = 51}});
  const std::vector<Event> all = events();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].type, EventType::kLost);
  EXPECT_EQ(all[1].count, 3u);
  EXPECT_EQ(all[1].function, nullptr);
}

TEST_F(TimelineOf, AWordOfOneRecordIsNotTheNextOnes) {
  file_.calls(100, 0,
              {{.hook = 1, .begin_us = 10, .end_us = 40, .b = pack_post(200, test::at_us(33)), .c = kLibX + 1},
               {.hook = 3, .begin_us = 50, .end_us = 60}});
  EXPECT_LT(events().at(1).wake_ns, 0);
}

TEST_F(TimelineOf, QuestionsMayBeAskedAboutAWindow) {
  std::vector<Call> calls;
  for (int i = 0; i < 10; ++i) calls.push_back({.hook = 2, .begin_us = 100.0 * i, .end_us = 100.0 * i + 10});
  calls.push_back({.hook = 1, .begin_us = 1500, .end_us = 1600, .c = kLibX + 1});
  file_.calls(100, 0, calls);
  file_.block(kBlockCounters, test::sums_row({.tid = 100, .hook = 2, .counters = {{2000}, {}}}));
  const ProcessAnswer some = within(200, 500);
  EXPECT_EQ(some.launches.by_function.at("cuLaunchKernel"), 3u);
  EXPECT_EQ(some.launches.gap.count(), 2u);
  EXPECT_TRUE(some.waits.empty());
  EXPECT_EQ(within(-1e300, 1e300).launches.by_function.at("cuLaunchKernel"), 10u) << "a counter has no place in it";
}

TEST_F(TimelineOf, TheWholeHoldsCountersToo) {
  file_.calls(100, 0, {{.hook = 2, .begin_us = 10, .end_us = 11}});
  file_.block(kBlockCounters, test::sums_row({.tid = 100, .hook = 2, .counters = {{2000}, {}}}));
  write();
  Symbols symbols;
  EXPECT_EQ(analyse_process(read_trace(folder_.file("t.hptrace")), symbols).launches.by_function.at("cuLaunchKernel"),
            2u);
}

}  // namespace
}  // namespace hostprobe::analysis
