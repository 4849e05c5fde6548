// Mode monitor: what counters held when steps became known is start-up, and what the process saw of its steps is told.
#include <gtest/gtest.h>

#include "analysis/process.h"
#include "support/counters.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using test::SumsLook;

constexpr std::uint32_t kMain = 4242;
constexpr std::uint64_t kMsTicks = 2'000'000;
enum Hooks : std::uint16_t { kSem = 1, kLaunch };

std::string steps_known(double us, std::uint64_t run_delay_ns = 0) {
  EventRow row{};
  row.amount = run_delay_ns;
  row.ticks = test::at_us(us);
  row.kind = kEventStepsKnown;
  row.number = 3;
  return test::bytes_of(row);
}

class StartUp : public testing::Test {
 protected:
  StartUp() {
    file_.header.pid = kMain;
    test::set_text(file_.header.mode, "monitor");
    file_.hooks({test::wait_hook("sem_wait"), test::launch_hook("cuLaunchKernel")});
    file_.thread(test::thread_entry(kMain, "main"));
  }
  void waits(BlockKind kind, std::uint32_t tid, std::vector<std::uint64_t> ticks) {
    file_.block(kind, test::sums_row({.tid = tid, .hook = kSem, .site = 0x1000, .counters = {std::move(ticks)}}));
  }
  void steps(std::uint64_t from, const std::vector<std::uint64_t>& ticks) {
    file_.block(kBlockSteps, test::sums_row({.tid = kMain, .hook = 0, .site = from, .counters = {ticks}}));
  }
  Trace read() {
    file_.write(folder_.file("h-1-1.hptrace"));
    return read_trace(folder_.file("h-1-1.hptrace"));
  }
  ProcessAnswer ask() { return analyse_process(read(), symbols_); }

  test::TestFolder folder_;
  test::TraceFile file_;
  Symbols symbols_;
};

// Of a second, the first 400 ms are start-up, and 300 ms of waits are before them.
TEST_F(StartUp, OfCountersIsLeftOutOfTheSteps) {
  file_.block(kBlockEvents, steps_known(400'000));
  waits(kBlockStartCounters, kMain, {300 * kMsTicks});
  waits(kBlockCounters, kMain, {300 * kMsTicks, 10 * kMsTicks, 20 * kMsTicks});
  const ProcessAnswer answer = ask();
  ASSERT_EQ(answer.waits.size(), 1u);
  EXPECT_EQ(answer.waits[0].time.count(), 3u);
  ASSERT_NE(answer.steady, nullptr);
  ASSERT_EQ(answer.steady->waits.size(), 1u);
  EXPECT_EQ(answer.steady->waits[0].time.count(), 2u);
  EXPECT_NEAR(answer.steady->waits[0].time.total_ns(), 30e6, 1);
  EXPECT_LE(answer.steady->waits[0].time.max_ns(), 21e6);
  EXPECT_NEAR(answer.steady->wall_ms, 600, 1e-3);
}

TEST_F(StartUp, IsAllOfWhatWasCountedBeforeAndNotAgain) {
  file_.block(kBlockEvents, steps_known(400'000));
  waits(kBlockStartCounters, kMain, {300 * kMsTicks});
  waits(kBlockCounters, kMain, {300 * kMsTicks});
  const ProcessAnswer answer = ask();
  ASSERT_NE(answer.steady, nullptr);
  EXPECT_TRUE(answer.steady->waits.empty());
}

TEST_F(StartUp, OfAThreadThatWasMergedIsLeftOutOfWhatStandsForIt) {
  file_.block(kBlockEvents, steps_known(400'000));
  ThreadEntry shared = test::thread_entry(0, "");
  shared.state = kThreadMerged;
  shared.stands_for = 2;
  shared.records = 3;
  file_.thread(shared);
  waits(kBlockStartCounters, 9, {100 * kMsTicks});
  waits(kBlockCounters, 0, {100 * kMsTicks, 5 * kMsTicks, 6 * kMsTicks});
  const ProcessAnswer answer = ask();
  ASSERT_NE(answer.steady, nullptr);
  ASSERT_EQ(answer.steady->waits.size(), 1u);
  EXPECT_EQ(answer.steady->waits[0].time.count(), 2u);
}

TEST_F(StartUp, OfTheMainThreadsLackOfACpuIsLeftOut) {
  ThreadEntry entry = test::thread_entry(kMain, "main");
  entry.cpu_ns = 200'000'000;
  entry.run_delay_ns = 350'000'000;
  file_.thread(entry);
  file_.block(kBlockEvents, steps_known(400'000, 320'000'000));
  const ProcessAnswer answer = ask();
  ASSERT_NE(answer.steady, nullptr);
  EXPECT_NEAR(answer.main_thread()->time.run_delay_ms.value(), 350, 1e-6);
  EXPECT_NEAR(answer.steady->main_thread()->time.run_delay_ms.value(), 30, 1e-6);
  EXPECT_NEAR(answer.steady->main_thread()->time.wall_ms, 600, 1e-3);
}

TEST_F(StartUp, IsNotKnownWhereStepsNeverWere) {
  waits(kBlockCounters, kMain, {300 * kMsTicks});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.steady, nullptr);
  EXPECT_EQ(answer.steps.source, StepSource::kNone);
}

TEST_F(StartUp, StepsThatTheProcessSawAreTold) {
  steps(kStepsFromCalls, {10 * kMsTicks, 10 * kMsTicks, 12 * kMsTicks});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.steps.source, StepSource::kDetected);
  EXPECT_FALSE(answer.steps.by_optimizer);
  EXPECT_EQ(answer.steps.lengths.count, 3u);
  EXPECT_NEAR(answer.steps.lengths.total_ns, 32e6, 1);
  EXPECT_NEAR(answer.steps.lengths.median_ns, 10e6, 0.4e6);
}

TEST_F(StartUp, OfSeveralRowsOfStepsTheOneWithTheMostHolds) {
  steps(kStepsFromOptimizer, {10 * kMsTicks, 10 * kMsTicks, 12 * kMsTicks});
  steps(kStepsFromCalls, {10 * kMsTicks});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.steps.lengths.count, 3u);
  EXPECT_TRUE(answer.steps.by_optimizer);
}

TEST_F(StartUp, StepsThatNothingShowsAreDamage) {
  steps(9, {10 * kMsTicks});
  const Trace trace = read();
  EXPECT_EQ(trace.damages.size(), 1u);
  EXPECT_FALSE(trace.steps_seen);
}

}  // namespace
}  // namespace hostprobe::analysis
