// Waits below the recording threshold: analysis/site_counters.cpp, and what waits.cpp and progress.cpp make of them.
#include "trace/site_counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/process.h"
#include "support/counters.h"
#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using test::TraceFile;

constexpr std::uint64_t kLibX = 0x100000, kNccl = 0x300000;
constexpr std::uint32_t kMain = 4242, kService = 7, kProgress = 8;

class ShortWaitAnswers : public testing::Test {
 protected:
  ShortWaitAnswers() {
    file_.hooks(
        {test::wait_hook("sem_wait"),
         {.name = "sched_yield", .family = Family::kThread, .labels = {"cpu", "", "site:code"}, .blocking = false},
         {.name = "ncclCommInitRank",
          .family = Family::kNccl,
          .labels = {"comm:hex", "handle:hex", "", "", "place:ranks"},
          .blocking = false}});
    file_.module(kLibX, kLibX + 0x1000, "/x/libx.so");
    file_.module(kNccl, kNccl + 0x1000, "/n/libnccl.so.2");
    file_.thread(test::thread_entry(kMain, "main"));
  }
  ProcessAnswer ask() {
    file_.write(folder_.file("t.hptrace"));
    return analyse_process(read_trace(folder_.file("t.hptrace")), symbols_);
  }
  void born(std::uint32_t tid, const char* name, std::uint32_t creator, double us) {
    ThreadEntry entry = test::thread_entry(tid, name);
    entry.start_ticks = test::at_us(us);
    entry.creator_tid = creator;
    entry.created_ticks = test::at_us(us - 60);
    entry.start_routine = kNccl + 1;
    file_.thread(entry);
  }
  test::TestFolder folder_;
  TraceFile file_;
  Symbols symbols_;
};

TEST_F(ShortWaitAnswers, AddCountsAndSumsExactlyToThoseOfTheRecords) {
  file_.calls(kMain, 0, {{.begin_us = 0, .end_us = 50, .c = kLibX + 1}});
  file_.block(kBlockShortWaits, test::short_row(kMain, kLibX + 1, 1, {{200, 400, 1400}, {}}, 0));
  const ProcessAnswer answer = ask();
  ASSERT_EQ(answer.waits.size(), 1u);
  EXPECT_EQ(answer.waits[0].time.count(), 4u);
  EXPECT_DOUBLE_EQ(answer.waits[0].time.total_ns(), 50'000 + 1000);
  EXPECT_DOUBLE_EQ(answer.waits[0].time.max_ns(), 50'000);
  EXPECT_DOUBLE_EQ(answer.threads[0].time.wait_ms, 0.051);
  EXPECT_EQ(answer.waits[0].code.at(0).count, 4u);
}

TEST_F(ShortWaitAnswers, GivePercentilesWithinFivePercent) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> shape(8, 0.8);
  test::Counters counters;
  for (int i = 0; i < 20000; ++i)
    counters.time.push_back(static_cast<std::uint64_t>(std::clamp(shape(random), 130., 5e5)));
  file_.block(kBlockShortWaits, test::short_row(kMain, kLibX + 1, 1, counters, 0));
  const ProcessAnswer answer = ask();
  std::sort(counters.time.begin(), counters.time.end());
  for (const double percent : {1.0, 50.0, 90.0, 99.0}) {
    const double exact =
        static_cast<double>(counters.time[static_cast<std::size_t>(percent * 200) - 1]) / test::kTicksPerNs;
    EXPECT_NEAR(answer.waits.at(0).time.percentile_ns(percent), exact, 0.05 * exact) << percent;
  }
}

TEST_F(ShortWaitAnswers, NameTheThreadThatWoke) {
  file_.thread(test::thread_entry(9, "worker"));
  file_.block(kBlockShortWaits, test::short_row(kMain, kLibX + 1, 1, {{900, 900}, {300, 300}}, 9));
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.waits.at(0).wake.count(), 2u);
  EXPECT_DOUBLE_EQ(answer.waits.at(0).wake.total_ns(), 300);
  EXPECT_EQ(answer.waits.at(0).main_waker_thread().tid, 9u);
}

TEST_F(ShortWaitAnswers, OfALaterBlockReplaceThoseOfAnEarlierOne) {
  file_.block(kBlockShortWaits, test::short_row(kMain, kLibX + 1, 1, {{200}, {}}, 0));
  file_.block(kBlockShortWaits, test::short_row(kMain, kLibX + 1, 1, {{200, 300}, {}}, 0));
  EXPECT_EQ(ask().waits.at(0).time.count(), 2u);
}

TEST_F(ShortWaitAnswers, ThatNameNoBucketAreDamage) {
  std::string row = test::short_row(kMain, kLibX + 1, 1, {{200}, {}}, 0);
  const std::uint64_t beyond = kSpanBuckets | std::uint64_t{1} << 16;
  row.replace(sizeof(SiteRow), sizeof(beyond), test::bytes_of(beyond));
  file_.block(kBlockShortWaits, row);
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.damages.size(), 1u);
  EXPECT_TRUE(answer.waits.empty());
}

TEST_F(ShortWaitAnswers, CutInTheMiddleAreDamage) {
  const std::string row = test::short_row(kMain, kLibX + 1, 1, {{200, 90000}, {}}, 0);
  file_.block(kBlockShortWaits, row.substr(0, row.size() - 8));
  file_.block(kBlockShortWaits, row.substr(0, 16));
  EXPECT_EQ(ask().damages.size(), 2u);
}

// Main initialises communicator 0xa, whose service thread runs and starts the progress thread when main is at 0xb already.
TEST_F(ShortWaitAnswers, OfProgressThreadsArePollsOfTheCommunicatorThatStartedThem) {
  file_.calls(
      kMain, 0,
      {{.hook = 3, .begin_us = 100, .end_us = 200, .a = 0xa}, {.hook = 3, .begin_us = 210, .end_us = 400, .a = 0xb}});
  born(kService, "NCCL Service  0", kMain, 250);  // made at 190
  born(kProgress, "NCCL Progress 0", kService, 350);
  SiteRow probe{};
  std::string row = test::short_row(kProgress, kNccl + 9, 2, {{600, 600, 1000}, {}}, 0);
  std::memcpy(&probe, row.data(), sizeof(probe));
  probe.thread_start_ticks = test::at_us(350);
  row.replace(0, sizeof(probe), test::bytes_of(probe));
  file_.block(kBlockShortWaits, row);
  const ProcessAnswer answer = ask();
  ASSERT_EQ(answer.progress.size(), 1u);
  EXPECT_EQ(answer.progress[0].tid, kProgress);
  EXPECT_EQ(answer.progress[0].communicator, "000000000000000a");
  EXPECT_EQ(answer.progress[0].poll.count(), 3u);
  EXPECT_DOUBLE_EQ(answer.progress[0].poll.total_ns(), 1100);
  EXPECT_EQ(answer.progress[0].stalls, 0u);
  EXPECT_TRUE(answer.waits.empty()) << "polling is not waiting";
}

}  // namespace
}  // namespace hostprobe::analysis
