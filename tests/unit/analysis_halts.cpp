// When a whole process stood still, as the switches of its threads show it: analysis/measures/halts.cpp
#include "analysis/measures/halts.h"

#include <gtest/gtest.h>

#include "format/switches.h"
#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using test::at_us;

constexpr double kMs = 1000;

// Three threads that wait, in blocks of 100 ms. hostprobe's own thread looked at 10 ms, slept, and looked again at 60 ms.
class Halts : public testing::Test {
 protected:
  Halts() {
    file_.hooks({test::wait_hook("sem_wait")});
    for (const std::uint32_t tid : {7, 8, 9}) file_.thread(test::thread_entry(tid)), run(tid, 1 * kMs, 1.1 * kMs);
  }
  void run(std::uint32_t tid, double from_us, double to_us) {
    rows_ += test::bytes_of(SwitchRow{at_us(from_us), tid, 0, kSwitchedIn});
    rows_ += test::bytes_of(SwitchRow{at_us(to_us), tid, 0, kSwitchedOut});
    ++runs_;
  }
  // Each of them for 20 us, one after the other.
  void run_all(double from_us) {
    for (const std::uint32_t tid : {7, 8, 9}) run(tid, from_us + 20 * (tid - 7), from_us + 20 * (tid - 6));
  }
  void look(std::uint64_t late_ns) {
    EventRow row{};
    row.ticks = at_us(60 * kMs), row.number = at_us(10 * kMs), row.kind = kEventHalted, row.amount = late_ns;
    file_.block(kBlockEvents, test::bytes_of(row));
  }
  std::vector<Window> halts() {
    run_all(90 * kMs);
    const SwitchesHead head{at_us(0), at_us(100 * kMs), 0, 2 * runs_, 1};
    file_.block(kBlockSwitches, test::bytes_of(head) + rows_);
    file_.write(folder_.file("t.hptrace"));
    const Trace trace = read_trace(folder_.file("t.hptrace"));
    Symbols symbols;
    const Timeline timeline(trace, symbols);
    TickReader ticks(trace.clock);
    std::vector<Window> halts = halts_of(timeline);
    const double zero_ns = ticks.since_first_ns(at_us(0));
    for (Window& halt : halts) halt = {1e-6 * (halt.begin_ns - zero_ns), 1e-6 * (halt.end_ns - zero_ns)};
    return halts;
  }

  test::TestFolder folder_;
  test::TraceFile file_;
  std::string rows_;
  std::uint32_t runs_ = 0;
};

TEST_F(Halts, AreAsLongAsNoThreadRunsBetweenTwoTimesThatEachIsWoken) {
  look(0);
  run_all(20 * kMs);
  run_all(44 * kMs);
  const std::vector<Window> found = halts();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].begin_ns, 20.06, 0.001);
  EXPECT_NEAR(found[0].end_ns, 44, 0.001);
}

TEST_F(Halts, ThatWereLateEndWhereTheThreadsAreWoken) {
  look(12000000);
  run_all(20 * kMs);
  run_all(59 * kMs);
  const std::vector<Window> found = halts();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].length_ns(), 39 - 0.06, 0.001);
}

TEST_F(Halts, AreNoneWhereAThreadSleptThroughThem) {
  look(0);
  for (const std::uint32_t tid : {7, 8}) run(tid, 20 * kMs, 20.02 * kMs), run(tid, 44 * kMs, 44.02 * kMs);
  EXPECT_TRUE(halts().empty());
}

TEST_F(Halts, AreNoneWhereAThreadRanMeanwhile) {
  look(0);
  run_all(20 * kMs);
  for (double us = 20.5 * kMs; us < 44 * kMs; us += 900) run(8, us, us + 100);
  run_all(44 * kMs);
  EXPECT_TRUE(halts().empty());
}

TEST_F(Halts, AreNoneThatNothingTellsOf) {
  run_all(20 * kMs);
  run_all(44 * kMs);
  EXPECT_TRUE(halts().empty());
}

}  // namespace
}  // namespace hostprobe::analysis
