// When stretches of work are timed on the GPU: sources/gpu_stretches.cpp, with a fake of what times them.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "probe/hooks/gpu/gpu_ends.h"
#include "probe/record/gate.h"
#include "probe/record/limits.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/tick_rate.h"
#include "probe/sources/call_pace.h"
#include "probe/sources/gpu_stretches.h"

namespace hostprobe::probe {
namespace {

struct FakeEnds {
  bool open = false, missing = false;
  std::uint32_t opened = 0, most_let_by = 0;
  std::uint64_t spent_ticks = 0, last_ticks = 0;
};
FakeEnds g_ends;

}  // namespace

void open_stretch(std::uint32_t let_by) {
  g_ends.open = true;
  ++g_ends.opened;
  if (let_by > g_ends.most_let_by) g_ends.most_let_by = let_by;
}
bool stretch_is_open() { return g_ends.open; }
void close_stretch() { g_ends.open = false; }
std::uint64_t take_stretch_ticks() { return std::exchange(g_ends.spent_ticks, 0); }
std::uint64_t last_stretch_ticks() { return g_ends.last_ticks; }
bool gpu_ends_cannot_be_timed() { return g_ends.missing; }

namespace {

constexpr std::uint64_t kMs = 1000000, kSecond = 1000 * kMs, kStart = 5000 * kSecond;

class Stretches : public testing::Test {
 protected:
  Stretches() {
    forget_process();
    g_ends = {};
    g_options.mode = kTrace;
    g_options.gpu = kGpuAuto;
    g_gate.recording = kEverything;
  }
  ~Stretches() override { g_gate.recording = 0; }

  // Runs the writer for so long, while calls come at once and each stretch takes `cost_us`. How many were opened.
  std::uint32_t run(std::uint64_t ns, std::uint64_t cost_us, bool shed = false) {
    const std::uint32_t before = g_ends.opened;
    for (const std::uint64_t end = now_ns_ + ns; now_ns_ < end;) {
      const std::uint64_t due = open_gpu_stretches({.now_ns = now_ns_, .shed = shed});
      if (g_ends.open && calls_come_) finish(cost_us);
      now_ns_ = std::max(std::min(due, end), now_ns_ + 1);
    }
    return g_ends.opened - before;
  }
  static void finish(std::uint64_t cost_us) {
    g_ends.open = false;
    g_ends.spent_ticks = ticks_of(cost_us);
    g_ends.last_ticks = ticks();
  }

  std::uint64_t now_ns_ = kStart;
  bool calls_come_ = true;
};

TEST_F(Stretches, BeginSoonAndAreDenseInTheFirstSecond) {
  EXPECT_EQ(run(49 * kMs, 50), 0u);
  EXPECT_EQ(run(2 * kMs, 50), 1u);
  const std::uint32_t young = run(949 * kMs, 50), later = run(20 * kSecond, 50);
  EXPECT_GE(young, 15u);
  EXPECT_LE(young, 45u);
  EXPECT_GE(later, 20 * 10u);
  EXPECT_LE(later, 20 * 17u);
}

TEST_F(Stretches, AreSoFarApartThatTheyTakeNoMoreThanTheirShare) {
  constexpr std::uint64_t kCostUs = 400, kFirstSeconds = 20;
  std::uint64_t young = 0;  // when each comes is drawn, so a single second may have one more
  for (std::uint64_t i = 0; i < kFirstSeconds; ++i) {
    forget_process();
    young += run(kSecond, kCostUs);
  }
  const std::uint32_t later = run(100 * kSecond, kCostUs);
  EXPECT_LE(young * kCostUs, kFirstSeconds * 1000000 / 200);
  EXPECT_LE(later * kCostUs, 100 * 1000000 / 950);
  EXPECT_GE(later * kCostUs, 100 * 1000000 / 2000);
}

TEST_F(Stretches, AreNotStoppedByOneInWhichTheThreadLostItsCpu) {
  run(3 * kSecond, 50);
  g_ends.spent_ticks = ticks_of(50000);
  EXPECT_GE(run(10 * kSecond, 50), 10 * 10u);
  EXPECT_EQ(usual_cost_ns({50, 9000, 60}), 60u);
  EXPECT_EQ(usual_cost_ns({9000, 60, 50}), 60u);
  EXPECT_EQ(usual_cost_ns({60, 50, 9000}), 60u);
  EXPECT_EQ(usual_cost_ns({60, 0, 0}), 0u);
}

TEST_F(Stretches, AreShedUnlessTheyAreAskedFor) {
  run(2 * kSecond, 50);
  EXPECT_EQ(run(5 * kSecond, 50, true), 0u);
  EXPECT_GE(run(5 * kSecond, 50), 40u);
  g_options.gpu = kGpuEvents;
  EXPECT_GE(run(5 * kSecond, 50, true), 40u);
}

TEST_F(Stretches, ThatAreOpenAreClosedWhenDetailIsShed) {
  calls_come_ = false;
  run(100 * kMs, 0);
  ASSERT_TRUE(g_ends.open);
  run(kSecond, 0, true);
  EXPECT_FALSE(g_ends.open);
}

TEST_F(Stretches, AreNoneWhereTheyAreSwitchedOffOrThereAreNoRecords) {
  g_options.gpu = kGpuOff;
  EXPECT_EQ(open_gpu_stretches({.now_ns = now_ns_}), kNever);
  g_options.gpu = kGpuEvents;
  g_options.mode = kMonitor;
  EXPECT_EQ(open_gpu_stretches({.now_ns = now_ns_}), kNever);
  g_options.mode = kTrace;
  g_gate.recording = 0;
  EXPECT_EQ(run(3 * kSecond, 50), 0u);
  g_gate.recording = kEverything;
  g_ends.missing = true;
  EXPECT_EQ(run(5 * kSecond, 50), 0u);
}

// The writer is not woken again and again for a program that does nothing.
TEST_F(Stretches, AreWaitedForLessAndLessOften) {
  calls_come_ = false;
  run(kSecond, 0);
  EXPECT_TRUE(g_ends.open);
  EXPECT_GE(open_gpu_stretches({.now_ns = now_ns_ + kSecond}), now_ns_ + kSecond + 250 * kMs);
}

TEST(CallPace, IsBetweenItsBounds) {
  CallPace pace{};
  EXPECT_EQ(pace.come_in(1000), CallPace::kFewest);
  pace.learn(100, 1000);
  EXPECT_EQ(pace.come_in(1000), 100u);
  EXPECT_EQ(pace.come_in(10), CallPace::kFewest);
  EXPECT_EQ(pace.come_in(1000000), CallPace::kMost);
}

}  // namespace
}  // namespace hostprobe::probe
