// Steps of a running program, from chunks as its threads hand them over: the same that the analysis finds afterwards.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "format/file.h"
#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/trigger.h"
#include "probe/runtime/identity.h"
#include "probe/runtime/options.h"
#include "probe/writer/consumers.h"
#include "probe/writer/drain.h"
#include "probe/writer/flight.h"
#include "probe/writer/steps/live_steps.h"
#include "probe_fakes.h"

namespace hostprobe::probe {
namespace {

class LiveSteps : public testing::TestWithParam<Mode> {
 protected:
  LiveSteps() {
    note_load(read_clock_pair());
    usleep(20000);  // the rate of the ticks is measured since then
    g_options.steps = kStepsAuto;
    g_options.slow_step_pct = 200;
    recording_.emplace(folder_.path.c_str(), 4, GetParam());
    at_ = ticks();
  }
  ~LiveSteps() override {
    recording_.reset();
    g_options = {};
  }

  void call(const char* hook, std::uint64_t what, std::uint64_t length = 100) {
    Record* r = reserve_record();
    ASSERT_NE(r, nullptr);
    r->begin_ticks = at_;
    r->end_ticks = at_ += length;
    r->a = what;
    r->b = r->c = r->d = r->e = 0;
    commit_record(r, fake_hook(hook), 0, 0);
    if (++calls_ % 1000 == 0) look();
  }
  // Layers that repeat, and what comes once.
  void step(std::uint64_t pause) {
    for (int layer = 0; layer < 6; ++layer)
      for (std::uint64_t kernel = 1; kernel <= 3; ++kernel) call("cuLaunchKernel", kernel);
    call("ncclAllReduce", 7);
    call("cuLaunchKernel", 9);
    at_ += pause;
  }
  // A search that took a while is not followed by the next at once.
  void steps_until_found() {
    for (int round = 0; round < 20000 && live_source() != LiveSource::kDetected; ++round) {
      for (int i = 0; i < 50; ++i) step(8000);
      taken();
      usleep(1000);
    }
    ASSERT_EQ(live_source(), LiveSource::kDetected);
  }
  void look() {
    drain_full_chunks();
    hand_open_chunks();
  }
  std::vector<double> taken() {
    look();
    std::vector<double> lengths;
    LiveStep steps[64];
    for (unsigned count = 0; (count = take_live_steps(steps, 64)) > 0;)
      for (unsigned i = 0; i < count; ++i) lengths.push_back(steps[i].end_ns - steps[i].begin_ns);
    return lengths;
  }

  Folder folder_;
  std::optional<Recording> recording_;
  std::uint64_t at_ = 0, calls_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Modes, LiveSteps, testing::Values(kMonitor, kFlight, kTrace));

TEST_P(LiveSteps, AreFoundInCallsThatRepeat) {
  steps_until_found();
  for (int i = 0; i < 3; ++i) step(8000);
  taken();
  const std::uint64_t before = live_step_count();
  for (int i = 0; i < 100; ++i) step(8000);
  std::vector<double> lengths = taken();
  EXPECT_EQ(live_step_count(), before + 100);
  ASSERT_EQ(lengths.size(), 100u);
  // Made steps lie elsewhere in time than the clock's last reading, so a better rate moves the one across it.
  std::sort(lengths.begin(), lengths.end());
  EXPECT_NEAR(lengths[90] / lengths[10], 1, 0.05);
}

TEST_P(LiveSteps, StandInTheSharedMemory) {
  steps_until_found();
  for (int i = 0; i < 100; ++i) step(8000);
  const std::vector<double> lengths = taken();
  const StepRing& ring = g_segment.header->steps;
  EXPECT_EQ(ring.from, kStepsFromCalls);
  EXPECT_EQ(ring.count, live_step_count());
  const StepPlace &last = ring.places[(ring.count - 1) % kStepPlaces],
                  &before = ring.places[(ring.count - 2) % kStepPlaces];
  EXPECT_NEAR(static_cast<double>(last.length_ns), lengths.back(), 1);
  EXPECT_NEAR(static_cast<double>(before.length_ns), lengths[lengths.size() - 2], 1);
  EXPECT_GE(last.end_ns, before.end_ns);
  give_up_live_steps();
  EXPECT_EQ(ring.from, 0u);
  EXPECT_EQ(ring.count, 0u);
}

TEST_P(LiveSteps, AreNoneWhereNothingRepeats) {
  std::uint64_t seed = 1;
  for (int i = 0; i < 300000; ++i) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    call("cuLaunchKernel", seed >> 60);
  }
  EXPECT_TRUE(taken().empty());
  EXPECT_NE(live_source(), LiveSource::kDetected);
}

TEST_P(LiveSteps, OfAnOptimizerEndToCountWhereTheProgramGoesOnWithoutIt) {
  for (std::uint64_t number = 0; number < 3; ++number) {
    at_ += 10000;
    call("hostprobe_optimizer_step", number, 10000);
  }
  taken();
  EXPECT_EQ(live_source(), LiveSource::kOptimizer);
  EXPECT_EQ(live_step_count(), 3u);
  steps_until_found();  // as graphs in which they were captured
  call("hostprobe_optimizer_step", 3, 10000);
  taken();
  EXPECT_EQ(live_source(), LiveSource::kOptimizer) << "it steps again";
}

TEST_P(LiveSteps, AreNotToldWhereTheyAreSwitchedOff) {
  g_options.steps = kStepsOff;
  for (int i = 0; i < 2000; ++i) step(8000);
  EXPECT_TRUE(taken().empty());
}

TEST_P(LiveSteps, ThatTakeLongAskForADump) {
  if (GetParam() != kFlight) GTEST_SKIP() << "other modes have no dumps";
  steps_until_found();
  for (int i = 0; i < 20; ++i) step(8000);
  look();
  Trigger trigger;
  EXPECT_FALSE(take_trigger(trigger));
  step(80000);
  step(8000);
  look();
  ASSERT_TRUE(take_trigger(trigger));
  EXPECT_EQ(trigger.reason, kBySlowStep);
}

}  // namespace
}  // namespace hostprobe::probe
