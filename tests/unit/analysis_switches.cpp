// When threads were off their CPU: model/switches.cpp, and what the questions make of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/process.h"
#include "export/dump/dump.h"
#include "format/switches.h"
#include "model/timeline.h"
#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using test::at_us;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Row {
  double us;
  std::uint16_t what;
  std::uint32_t tid = 7;
  std::uint16_t cpu = 0;
};

std::string payload(const std::vector<Row>& rows, double begin_us, double end_us, std::uint64_t lost = 0,
                    std::uint32_t compared = 1) {
  const SwitchesHead head{at_us(begin_us), at_us(end_us), lost, static_cast<std::uint32_t>(rows.size()), compared};
  std::string bytes = test::bytes_of(head);
  for (const Row& row : rows) bytes += test::bytes_of(SwitchRow{at_us(row.us), row.tid, row.cpu, row.what});
  return bytes;
}

class SwitchesTest : public testing::Test {
 protected:
  SwitchesTest() {
    file_.hooks({test::wait_hook("sem_wait"), test::launch_hook("cuLaunchKernel")});
    file_.thread(test::thread_entry(7));
    file_.thread(test::thread_entry(8));
  }
  void block(const std::vector<Row>& rows, double begin_us = 0, double end_us = 1000, std::uint64_t lost = 0,
             std::uint32_t compared = 1) {
    file_.block(kBlockSwitches, payload(rows, begin_us, end_us, lost, compared));
  }
  const Trace& trace() {
    if (trace_) return *trace_;
    file_.write(folder_.file("t.hptrace"));
    trace_ = std::make_unique<Trace>(read_trace(folder_.file("t.hptrace")));
    return *trace_;
  }
  const Switches& switches() {
    if (!switches_) switches_ = std::make_unique<Switches>(trace());
    return *switches_;
  }
  // Out and in, microseconds since the first clock pair, and whether it was runnable.
  std::vector<std::tuple<double, double, bool>> spans(std::uint32_t tid = 7) {
    std::vector<std::tuple<double, double, bool>> all;
    for (const OffCpu& span : switches().of({tid, at_us(0)}).spans())
      all.emplace_back(std::round(span.out_ns / 1000), std::round(span.in_ns / 1000), span.runnable);
    return all;
  }
  double at(double us) { return TickReader(trace().clock).since_first_ns(at_us(us)); }
  ProcessAnswer answer() {
    Symbols symbols;
    return analyse_process(trace(), symbols);
  }

  test::TestFolder folder_;
  test::TraceFile file_;
  std::unique_ptr<Trace> trace_;
  std::unique_ptr<Switches> switches_;
};

using Span = std::tuple<double, double, bool>;

TEST_F(SwitchesTest, AThreadIsOffItsCpuFromOutToIn) {
  block({{10, kSwitchedOut}, {20, kSwitchedIn}, {30, kSwitchedOutRunnable}, {45, kSwitchedIn}});
  EXPECT_THAT(spans(), ElementsAre(Span{10, 20, false}, Span{30, 45, true}));
  EXPECT_EQ(switches().count(), 2u);
  EXPECT_TRUE(spans(8).empty());
}

TEST_F(SwitchesTest, RowsOfSeveralCpusAndBlocksComeInAnyOrder) {
  block({{30, kSwitchedOutRunnable, 7, 1}, {20, kSwitchedIn, 7, 1}, {45, kSwitchedIn}}, 25, 50);
  block({{10, kSwitchedOut}}, 0, 25);
  EXPECT_THAT(spans(), ElementsAre(Span{10, 20, false}, Span{30, 45, true}));
}

TEST_F(SwitchesTest, WhatHasOnlyOneHalfIsLeftOut) {
  block({{5, kSwitchedIn}, {10, kSwitchedOut}, {15, kSwitchedOut}, {20, kSwitchedIn}, {22, kSwitchedIn}});
  EXPECT_THAT(spans(), ElementsAre(Span{15, 20, false}));
}

TEST_F(SwitchesTest, RowsThatComeTwiceCountOnce) {
  block({{10, kSwitchedOut}, {20, kSwitchedIn}});
  block({{10, kSwitchedOut}, {20, kSwitchedIn}});
  EXPECT_THAT(spans(), ElementsAre(Span{10, 20, false}));
  EXPECT_EQ(switches().count(), 1u);
}

TEST_F(SwitchesTest, RowsOfNoKnownThreadOrKindAreNobodys) {
  block({{10, kSwitchedOut, 99}, {20, kSwitchedIn, 99}, {30, 0}, {31, 77}, {32, kSwitchedOut}, {40, kSwitchedIn}});
  EXPECT_THAT(spans(), ElementsAre(Span{32, 40, false}));
}

TEST_F(SwitchesTest, AThreadThatLivesIsOffItsCpuUntilTheEnd) {
  block({{10, kSwitchedOut}}, 0, 100);
  EXPECT_THAT(spans(), ElementsAre(Span{10, 100, false}));
}

TEST_F(SwitchesTest, AThreadThatTookTheIdOverIsAnotherOne) {
  ThreadEntry first = test::thread_entry(9), second = test::thread_entry(9);
  first.end_ticks = at_us(50);
  second.start_ticks = at_us(60);
  file_.thread(first);
  file_.thread(second);
  block({{40, kSwitchedOut, 9}, {70, kSwitchedIn, 9}, {80, kSwitchedOut, 9}, {90, kSwitchedIn, 9}});
  EXPECT_TRUE(spans(9).empty());
  EXPECT_EQ(switches().of({9, at_us(60)}).spans().size(), 1u);
}

TEST_F(SwitchesTest, CoverTheTimeOfTheirBlocks) {
  block({}, 0, 100);
  block({}, 100, 200);
  block({}, 300, 400);
  EXPECT_TRUE(switches().covers(at(10), at(190)));
  EXPECT_FALSE(switches().covers(at(150), at(250)));
  EXPECT_FALSE(switches().covers(at(250), at(260)));
  EXPECT_FALSE(switches().covers(at(390), at(410)));
  EXPECT_NEAR(switches().covered_part(at(0), at(400)), 0.75, 1e-6);
}

TEST_F(SwitchesTest, WhatALaterBlockTellsToBeMissingIsMissingSinceTheComparisonBefore) {
  block({}, 0, 100);
  block({}, 100, 200, 0, 0);
  block({{210, kSwitchedOut}, {220, kSwitchedIn}}, 200, 300, 5);
  block({}, 300, 400);
  EXPECT_EQ(switches().lost(), 5u);
  EXPECT_TRUE(switches().covers(at(0), at(100)));
  EXPECT_FALSE(switches().covers(at(110), at(120)));
  EXPECT_FALSE(switches().covers(at(210), at(220)));
  EXPECT_TRUE(switches().covers(at(310), at(390)));
}

// Ten rows are missing between 100 and 200 µs, nobody knows whose.
TEST_F(SwitchesTest, WhereABufferWasFullNothingIsKnown) {
  block({{50, kSwitchedOut},
         {60, kSwitchedIn},
         {90, kSwitchedOut},
         {100, kDropsBegin, 0},
         {200, kDropsEnd, 10},
         {220, kSwitchedIn},
         {300, kSwitchedOutRunnable},
         {310, kSwitchedIn}},
        0, 1000, 5);
  EXPECT_THAT(spans(), ElementsAre(Span{50, 60, false}, Span{300, 310, true}));
  EXPECT_TRUE(switches().covers(at(10), at(95)));
  EXPECT_FALSE(switches().covers(at(95), at(105)));
  EXPECT_FALSE(switches().covers(at(150), at(160)));
  EXPECT_TRUE(switches().covers(at(205), at(990)));
  EXPECT_NEAR(switches().covered_part(at(0), at(1000)), 0.9, 1e-6);
}

TEST_F(SwitchesTest, OfAThreadThatWasLeftOutNothingIsKnown) {
  block({{50, kSwitchedOut},
         {60, kSwitchedIn},
         {90, kSwitchedOut},
         {100, kLeftOutBegin},
         {200, kLeftOutEnd},
         {220, kSwitchedIn},
         {300, kSwitchedOutRunnable},
         {310, kSwitchedIn},
         {90, kSwitchedOut, 8},
         {220, kSwitchedIn, 8}});
  EXPECT_THAT(spans(), ElementsAre(Span{50, 60, false}, Span{300, 310, true}));
  EXPECT_THAT(spans(8), ElementsAre(Span{90, 220, false})) << "the others' are";
  EXPECT_TRUE(switches().covers(at(95), at(105)));
  EXPECT_FALSE(switches().covers(7, at(95), at(105)));
  EXPECT_TRUE(switches().covers(7, at(205), at(990)));
  EXPECT_TRUE(switches().covers(8, at(95), at(105)));
  EXPECT_NEAR(switches().covered_part(7, at(0), at(1000)), 0.9, 1e-6);
  EXPECT_NEAR(switches().covered_part(8, at(0), at(1000)), 1.0, 1e-6);
  EXPECT_EQ(switches().in({7, 0}, at(150), at(160)), nullptr);
  EXPECT_EQ(switches().threads_left_out(), 1u);
}

TEST_F(SwitchesTest, BlocksMayTellOfOneAbsenceInPartsAndTwice) {
  block({{100, kLeftOutBegin}, {500, kLeftOutEnd}}, 0, 500);
  block({{400, kLeftOutBegin}, {700, kLeftOutEnd}, {800, kLeftOutBegin}, {750, kLeftOutEnd}, {760, kLeftOutEnd}}, 500,
        1000);
  EXPECT_NEAR(switches().covered_part(7, at(0), at(1000)), 0.4, 1e-6);
  EXPECT_TRUE(switches().covers(7, at(710), at(990))) << "a row alone says nothing";
}

TEST_F(SwitchesTest, WhereAllWereLeftOutNothingIsCovered) {
  block({{100, kLeftOutBegin, 0}, {300, kLeftOutEnd, 0}});
  EXPECT_FALSE(switches().covers(at(150), at(160)));
  EXPECT_FALSE(switches().covers(7, at(150), at(160)));
  EXPECT_NEAR(switches().covered_part(at(0), at(1000)), 0.8, 1e-6);
  EXPECT_EQ(switches().threads_left_out(), 0u);
}

TEST_F(SwitchesTest, PlacesWhereBuffersWereFullMayOverlapAndReachOut) {
  block({{10, kDropsBegin, 0},
         {60, kDropsEnd, 1},
         {20, kDropsBegin, 0, 1},
         {30, kDropsEnd, 1, 1},
         {90, kDropsBegin, 0},
         {150, kDropsEnd, 1},
         {400, kDropsEnd, 3},
         {500, kDropsBegin, 0}},
        0, 100, 3);
  block({}, 120, 200);
  EXPECT_TRUE(switches().covers(at(1), at(9)));
  EXPECT_FALSE(switches().covers(at(40), at(45)));
  EXPECT_TRUE(switches().covers(at(61), at(89)));
  EXPECT_FALSE(switches().covers(at(130), at(140)));
  EXPECT_TRUE(switches().covers(at(151), at(199)));
}

TEST_F(SwitchesTest, BlocksThatLieAboutTheirLengthAreDamage) {
  std::string bytes = payload({{10, kSwitchedOut}}, 0, 100);
  bytes.resize(bytes.size() - 8);
  file_.block(kBlockSwitches, bytes);
  file_.block(kBlockSwitches, std::string(8, '\0'));
  file_.block(kBlockSwitches, payload({{10, kSwitchedOut}}, 100, 0));
  EXPECT_EQ(trace().damages.size(), 3u);
  EXPECT_FALSE(switches().any());
}

TEST_F(SwitchesTest, OfAnyRowsGiveSpansInOrder) {
  std::mt19937 random(3);
  for (int b = 0; b < 20; ++b) {
    std::vector<Row> rows;
    for (int i = 0; i < 300; ++i)
      rows.push_back({static_cast<double>(random() % 5000), static_cast<std::uint16_t>(random() % 6),
                      static_cast<std::uint32_t>(6 + random() % 4), static_cast<std::uint16_t>(random() % 3)});
    block(rows, 0, 5000);
  }
  for (const std::uint32_t tid : {7u, 8u}) {
    double end = -1;
    for (const auto& [out, in, runnable] : spans(tid)) {
      EXPECT_GE(out, end);
      EXPECT_GE(in, out);
      end = in;
    }
  }
}

TEST_F(SwitchesTest, TimeOffTheCpuCountsInsideTheWindow) {
  block({{10, kSwitchedOut}, {20, kSwitchedIn}, {30, kSwitchedOutRunnable}, {50, kSwitchedIn}});
  const ThreadSwitches& own = switches().of({7, at_us(0)});
  const OffTime time = own.between(at(15), at(40));
  EXPECT_NEAR(time.waiting_ns, 5000, 1);
  EXPECT_NEAR(time.preempted_ns, 10000, 1);
  EXPECT_EQ(own.count_between(at(5), at(60)), 2u);
  EXPECT_EQ(own.count_between(at(15), at(40)), 1u);
  EXPECT_EQ(own.count_between(at(20), at(30)), 0u);
}

// Posted at 60, on a CPU again at 90, back at 95.
TEST_F(SwitchesTest, AWakeIsWaitingForACpuAndTheRest) {
  block({{20, kSwitchedOut}, {90, kSwitchedIn}});
  file_.calls(7, 0, {{.begin_us = 10, .end_us = 95, .b = pack_post(8, at_us(60))}});
  const ProcessAnswer process = answer();
  ASSERT_EQ(process.waits.size(), 1u);
  const WaitSite& site = process.waits[0];
  EXPECT_NEAR(site.wake.max_ns(), 35000, 1);
  EXPECT_NEAR(site.run_queue.max_ns(), 30000, 1);
  EXPECT_NEAR(site.rest.max_ns(), 5000, 1);
}

TEST_F(SwitchesTest, AWakeThatNoBlockCoversHasNoParts) {
  block({{20, kSwitchedOut}, {90, kSwitchedIn}}, 0, 80);
  file_.calls(7, 0, {{.begin_us = 10, .end_us = 95, .b = pack_post(8, at_us(60))}});
  const ProcessAnswer process = answer();
  ASSERT_EQ(process.waits.size(), 1u);
  EXPECT_EQ(process.waits[0].wake.count(), 1u);
  EXPECT_EQ(process.waits[0].run_queue.count(), 0u);
}

// Three launches; between the first two the thread was taken off for 100 of 200 µs.
TEST_F(SwitchesTest, PairsOfLaunchesWithASwitchBetweenThemAreOfGroupB) {
  block({{150, kSwitchedOutRunnable}, {250, kSwitchedIn}});
  file_.calls(7, 0,
              {{.hook = 2, .begin_us = 90, .end_us = 100},
               {.hook = 2, .begin_us = 300, .end_us = 310},
               {.hook = 2, .begin_us = 320, .end_us = 330}});
  const LaunchPairAnswer pairs = answer().launches.pairs;
  EXPECT_EQ(pairs.count, 2u);
  EXPECT_EQ(pairs.switched, 1u);
  EXPECT_NEAR(*pairs.no_cpu_ms, 0.1, 1e-6);
  EXPECT_NEAR(*pairs.penalty_ns, 190'000, 10'000);
}

TEST_F(SwitchesTest, APreemptedThreadIsToldSoExactly) {
  ThreadEntry entry = test::thread_entry(7);
  entry.cpu_ns = 600'000'000;
  entry.run_delay_ns = 300'000'000;
  file_.thread(entry);
  block({{100'000, kSwitchedOutRunnable}, {350'000, kSwitchedIn}, {500'000, kSwitchedOut}, {600'000, kSwitchedIn}}, 0,
        1'000'000);
  const ProcessAnswer process = answer();
  const ThreadAnswer* thread = process.thread({7, at_us(0)});
  ASSERT_NE(thread, nullptr);
  EXPECT_TRUE(thread->time.from_switches);
  EXPECT_NEAR(*thread->time.preempted_ms, 250, 1e-3);
  EXPECT_NEAR(*thread->time.run_queue_ms, 50, 1e-3);
  EXPECT_NEAR(thread->time.unexplained_ms, 100, 1);
  ASSERT_TRUE(process.scheduler);
  EXPECT_EQ(process.scheduler->switches, 2u);
  EXPECT_NEAR(process.scheduler->covered_pct, 100, 0.1);
}

TEST_F(SwitchesTest, OfAPartOfALifeTellNothingOfTheWhole) {
  ThreadEntry entry = test::thread_entry(7);
  entry.cpu_ns = 600'000'000;
  entry.run_delay_ns = 300'000'000;
  file_.thread(entry);
  block({{100'000, kSwitchedOutRunnable}, {350'000, kSwitchedIn}}, 0, 500'000);
  const ProcessAnswer process = answer();
  EXPECT_FALSE(process.thread({7, at_us(0)})->time.from_switches);
  EXPECT_NEAR(process.scheduler->covered_pct, 50, 0.1);
}

TEST_F(SwitchesTest, AreInADumpThatIsAskedForThem) {
  block({{10, kSwitchedOut}, {20, kSwitchedIn, 7, 1}, {30, kSwitchedOutRunnable}, {45, kSwitchedIn}});
  trace();
  for (const bool wanted : {false, true}) {
    std::string text;
    dump_run(
        folder_.path().string(), DumpForm::kJson, [&text](std::string_view more) { text += more; }, wanted);
    if (!wanted) {
      EXPECT_THAT(text, Not(HasSubstr("off_cpu")));
      continue;
    }
    EXPECT_THAT(text, HasSubstr(R"("off_cpu":"waits")"));
    EXPECT_THAT(text, HasSubstr(R"("duration_ns":10000,"cpu":0,"next_cpu":1})"));
    EXPECT_THAT(text, HasSubstr(R"("off_cpu":"preempted")"));
  }
}

}  // namespace
}  // namespace hostprobe::analysis
