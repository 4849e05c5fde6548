// Steps of a process: planned, listed, typed, one of them alone, and what is told of the time before them:
// model/steps.cpp, analysis/measures/steps.cpp, steady_state.cpp, one_step.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "analysis/findings/run_findings.h"
#include "analysis/measures/steps.h"
#include "analysis/run_answer.h"
#include "report/json/json.h"
#include "report/text/text.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::TraceFile;

constexpr std::uint64_t kLibX = 0x100000;
enum Row : std::uint16_t { kLaunch = 1, kCopy, kSync, kReduce, kMark, kWait, kSave, kRegion };

class StepsOf : public testing::Test {
 protected:
  // Of one rank: 400 ms of start-up, most of it one wait; then steps of 10 ms, each 9th 13 ms, step 40 25 ms. Each launches,
  // reduces, waits 3 ms for the GPU and 2 ms for another thread, and has an extra copy behind each 10th.
  struct Look {
    int rank = 0;
    int steps = 60;
    bool marks = true;
    double stretch = 1;
    bool repeats = true;
    int launches = 5, reduces = 1;
    int gaps_from = 1000, gaps_to = 1000;  // in these steps most launches are left out, to keep to the budget
    bool is_profiled = false;              // besides
    int held_up_every = 1000;              // steps: one takes ten times as long, with an extra copy
    int window_from = 1000;                // three steps of a window of PyTorch's profiler
  };
  static double length_of(int step) { return step == 40 ? 25 : step % 9 == 8 ? 13 : 10; }
  static bool is_held_up(const Look& look, int step) { return step % look.held_up_every == look.held_up_every - 1; }

  void rank(const Look& look) {
    TraceFile file;
    file.header.rank = look.rank;
    file.header.pid = static_cast<std::uint32_t>(1000 + look.rank);
    file.header.last = test::clock_at_us(1'100'000 * look.stretch);
    file.hooks({test::launch_hook("cuLaunchKernel"),
                plain("cuMemcpyHtoDAsync_v2", Family::kCuda),
                test::sync_hook("cuStreamSynchronize"),
                {.name = "ncclAllReduce",
                 .family = Family::kNccl,
                 .labels = {"comm:hex", "count", "call:nccl", "place:ranks", "stream:hex"},
                 .blocking = false},
                plain("hostprobe_step", Family::kPython),
                test::wait_hook("sem_wait"),
                test::sync_hook("cuMemcpyDtoH_v2"),
                {.name = "hostprobe_region",
                 .family = Family::kPython,
                 .labels = {"name:str"},
                 .blocking = false,
                 .role = HookRole::kRange}});
    test::StringArea names;
    const std::uint32_t window = names.add("profile_window");
    file.strings(names);
    file.module(kLibX, kLibX + 0x1000, "/x/libx.so");
    ThreadEntry main = test::thread_entry(file.header.pid, "main");
    main.skipped = look.gaps_from < look.steps ? 1000 : 0;
    file.thread(main);
    calls_.clear();
    add(kWait, 10, 360, kLibX + 7);
    double at_ms = 400;
    for (int step = 0; step < look.steps; ++step) at_ms = add_step(look, step, at_ms);
    if (look.window_from < look.steps) add(kRegion, 400 + 10 * look.window_from + 1, 25, 0, window);
    std::stable_sort(calls_.begin(), calls_.end(), [](const Call& l, const Call& r) { return l.end_us < r.end_us; });
    for (std::size_t from = 0; from < calls_.size(); from += 100) {
      const std::size_t to = std::min(calls_.size(), from + 100);
      file.calls(
          file.header.pid, from,
          {calls_.begin() + static_cast<std::ptrdiff_t>(from), calls_.begin() + static_cast<std::ptrdiff_t>(to)});
    }
    file.write(folder_.file("r-" + std::to_string(file.header.pid) + "-1.hptrace"));
    if (!look.is_profiled) return;
    file.header.source = kFromProfile;
    std::memcpy(file.header.mode, "profile", 8);
    file.write(folder_.file("r-" + std::to_string(file.header.pid) + "-2.hptrace"));
  }
  double add_step(const Look& look, int step, double at_ms) {
    const double end_ms = at_ms + look.stretch * length_of(step) * (is_held_up(look, step) ? 10 : 1);
    add(kCopy, at_ms + 0.1, 0.01);
    const int launches = look.repeats ? look.launches : 1 + step * 7 % 11;
    for (int i = 0; i < launches; ++i) add_launch(look, step, i, at_ms + 0.2 + 0.1 * i);
    add(kWait, at_ms + 2, 2, kLibX + 1);
    if (step % 10 == 9 || is_held_up(look, step)) add(kSave, at_ms + 4.5, 0.2);
    for (int i = 0; i < look.reduces; ++i)
      calls_.push_back({.hook = kReduce,
                        .begin_us = 1000 * at_ms + 5000 + 20 * i,
                        .end_us = 1000 * at_ms + 5010 + 20 * i,
                        .a = 0xa,
                        .b = 4096,
                        .c = pack_nccl_call(static_cast<std::uint32_t>(step * look.reduces + i + 1), 0, 7, 0),
                        .d = pack_nccl_ranks(look.rank, 2, -1)});
    add(kSync, end_ms - 3.1, 3, kLibX + 2);
    if (look.marks)
      calls_.push_back({.hook = kMark,
                        .begin_us = 1000 * at_ms,
                        .end_us = 1000 * end_ms,
                        .a = static_cast<std::uint64_t>(100 + step)});
    return end_ms;
  }
  void add_launch(const Look& look, int step, int number, double at_ms) {
    const bool is_in_gap = step >= look.gaps_from && step < look.gaps_to && (step % 4 != 0 || number < step % 16);
    left_out_ = left_out_ || is_in_gap;
    if (!is_in_gap) add(kLaunch, at_ms, 0.01, 0, 1 + static_cast<std::uint64_t>(number) % 3);
  }
  void add(std::uint16_t row, double at_ms, double ms, std::uint64_t site = 0, std::uint64_t kernel = 0) {
    calls_.push_back({.hook = row, .begin_us = 1000 * at_ms, .end_us = 1000 * (at_ms + ms), .a = kernel, .c = site});
    if (left_out_) calls_.back().flags = kRecordAfterSkipped;
    left_out_ = false;
  }
  static test::HookLook plain(const char* name, Family family) {
    return {.name = name, .family = family, .labels = {"number"}, .blocking = false};
  }
  RunAnswer ask(const StepQuery& query = {}) { return analyse_run(folder_.path().string(), {}, {.cores = 1}, query); }

  std::vector<Call> calls_;
  bool left_out_ = false;  // since the last one
  test::TestFolder folder_;
};

TEST_F(StepsOf, AProgramThatMarksThemAreItsMarks) {
  rank({});
  const StepAnswer steps = ask().steps;
  EXPECT_EQ(steps.source, StepSource::kMarks);
  EXPECT_EQ(steps.lengths.count, 60u);
  EXPECT_NEAR(steps.lengths.median_ns, 10e6, 1);
  EXPECT_NEAR(steps.lengths.p99_ns, 25e6, 1);
  EXPECT_NEAR(steps.lengths.max_ns, 25e6, 1);
  EXPECT_EQ(steps.steps.front().number, 100u);
  EXPECT_EQ(steps.numbered(140)->number, 140u);
  EXPECT_EQ(steps.numbered(160), nullptr);
}

// What they would be without it nobody saw.
TEST_F(StepsOf, AWindowOfTheProfilerAreLeftOut) {
  rank({.window_from = 3});
  const StepAnswer marked = ask().steps;
  EXPECT_EQ(marked.lengths.count, 57u);
  EXPECT_EQ(marked.numbered(102)->number, 102u);
  for (const std::uint64_t number : {103, 104, 105}) EXPECT_EQ(marked.numbered(number), nullptr) << number;
  EXPECT_EQ(ask({.choice = StepChoice::kDetected}).steps.lengths.count, 55u);
}

TEST_F(StepsOf, AProgramThatDoesNotMarkThemAreFound) {
  rank({});
  const StepAnswer steps = ask({.choice = StepChoice::kDetected}).steps;
  EXPECT_EQ(steps.source, StepSource::kDetected);
  EXPECT_EQ(steps.lengths.count, 58u) << "not the first, whose begin is not seen, nor the last, which copies more";
  EXPECT_NEAR(steps.lengths.median_ns, 10e6, 1e4);
  EXPECT_NEAR(steps.lengths.max_ns, 25e6, 1e4);
  EXPECT_NEAR(steps.slowest(1).front().excess_ns, 15e6, 1e4);
}

TEST_F(StepsOf, ThoseThatAreHeldUpTakeMostOfTheTime) {
  rank({.marks = false, .held_up_every = 5});
  const RunAnswer run = ask();
  EXPECT_EQ(run.steps.source, StepSource::kDetected);
  EXPECT_NEAR(static_cast<double>(run.steps.lengths.count), 59, 1);
}

TEST_F(StepsOf, ThoseBeforeLaunchesWereLeftOutAreFound) {
  rank({.steps = 300, .marks = false, .launches = 16, .reduces = 2, .gaps_from = 30});
  const StepAnswer steps = ask().steps;
  EXPECT_EQ(steps.source, StepSource::kDetected);
  EXPECT_GE(steps.lengths.count, 28u);
  EXPECT_LE(steps.lengths.count, 30u + 17u) << "a step that misses calls is none; each 16th has them all";
  EXPECT_NEAR(steps.lengths.median_ns, 10e6, 1e4);
}

TEST_F(StepsOf, ARunThatWasToldToHaveNoneAreNone) {
  rank({});
  EXPECT_EQ(ask({.choice = StepChoice::kOff}).steps.source, StepSource::kNone);
  rank({.marks = false});
  const RunAnswer run = ask({.choice = StepChoice::kMarks});
  EXPECT_EQ(run.steps.source, StepSource::kNone);
  EXPECT_FALSE(run.start_up_ms);
}

TEST_F(StepsOf, DifferentContentAreOfDifferentTypes) {
  rank({});
  const StepAnswer steps = ask().steps;
  ASSERT_EQ(steps.types.size(), 2u);
  EXPECT_EQ(steps.types[0].name, "train");
  EXPECT_EQ(steps.types[0].lengths.count, 54u);
  EXPECT_EQ(steps.types[1].lengths.count, 6u);
  EXPECT_EQ(steps.collectives, 1);
}

TEST(UsualStep, IsOfNoRareTypeHoweverLongThatTakes) {
  StepAnswer steps;
  steps.types = {{"", lengths_of(std::vector<double>(95, 10)), 1}, {"", lengths_of(std::vector<double>(5, 1000)), 2}};
  EXPECT_EQ(steps.usual_type(), 0u);
  steps.types[1].lengths = lengths_of(std::vector<double>(20, 1000));
  EXPECT_EQ(steps.usual_type(), 1u) << "what takes most of the time";
  steps.types[1].compute = 1;
  EXPECT_EQ(steps.usual_type(), 0u) << "the same work, and the host waits in one of five";
}

TEST_F(StepsOf, OneIsSlowOnlyBesideOthersOfItsType) {
  rank({});
  const std::vector<SlowStep> slow = ask().steps.slowest(3);
  ASSERT_EQ(slow.size(), 3u);
  EXPECT_EQ(slow[0].step.number, 140u);
  EXPECT_NEAR(slow[0].excess_ns, 15e6, 1);
  EXPECT_NEAR(slow[1].excess_ns, 3e6, 1);
}

TEST_F(StepsOf, OneAloneHoldsWhatBeginsInItAndThePartsOfWaits) {
  rank({});
  const RunAnswer run = ask({.slowest = true});
  ASSERT_EQ(run.processes.size(), 1u);
  const ProcessAnswer& process = run.processes[0];
  EXPECT_NEAR(process.wall_ms, 25, 1e-6);
  EXPECT_EQ(run.steps.lengths.count, 1u);
  EXPECT_EQ(run.steps.steps.front().number, 140u);
  EXPECT_EQ(process.launches.by_function.at("cuLaunchKernel"), 5u);
  EXPECT_EQ(process.syncs.time.count(), 1u);
  ASSERT_EQ(process.waits.size(), 1u);
  EXPECT_NEAR(process.waits[0].time.total_ns(), 2e6, 1);
  EXPECT_NEAR(process.waits[0].share_pct, 100 * 2 / 25.0, 0.01);
  EXPECT_NEAR(process.threads[0].time.wait_ms, 5, 1e-6);
  ASSERT_EQ(run.collectives.size(), 1u);
  EXPECT_EQ(run.collectives[0].count, 1u);
}

TEST_F(StepsOf, OneAloneSaysWhichItIs) {
  rank({.rank = 0});
  rank({.rank = 1, .stretch = 1.01});
  const RunAnswer run = ask({.slowest = true});
  ASSERT_TRUE(run.one_step);
  EXPECT_EQ(run.one_step->number, 140u);
  EXPECT_EQ(run.one_step->type, "train");
  EXPECT_NEAR(run.one_step->ms, 25.25, 1e-6);
  const auto json = nlohmann::json::parse(report_json(run, {}));
  EXPECT_EQ(json.at("step").at("number"), 140);
  const std::string text = report_text(run, {});
  EXPECT_NE(text.find("step 140 "), std::string::npos) << text;
  EXPECT_EQ(text.find("1 steps"), std::string::npos);
  EXPECT_FALSE(nlohmann::json::parse(report_json(ask(), {})).contains("step"));
}

TEST_F(StepsOf, OneAloneHasNoProcessThatDidNotLiveThen) {
  rank({});
  for (const int ms : {100, 1100}) {
    TraceFile file;
    file.header.pid = static_cast<std::uint32_t>(ms);
    file.header.last = test::clock_at_us(1000 * ms);
    file.hooks({test::wait_hook("sem_wait")});
    file.thread(test::thread_entry(file.header.pid, "helper"));
    file.write(folder_.file("h-" + std::to_string(ms) + "-1.hptrace"));
  }
  EXPECT_EQ(ask().processes.size(), 3u);
  const RunAnswer run = ask({.slowest = true});
  ASSERT_EQ(run.processes.size(), 2u);
  for (const ProcessAnswer& process : run.processes) EXPECT_NE(process.pid, 100u) << "it ended before the first step";
}

TEST_F(StepsOf, AllRanksAreToldOfTheirOwnStepOfTheNumber) {
  rank({.rank = 0});
  rank({.rank = 1, .stretch = 1.01});
  const RunAnswer run = ask({.number = 120});
  ASSERT_EQ(run.processes.size(), 2u);
  EXPECT_NEAR(run.processes[0].wall_ms, 10, 1e-6);
  EXPECT_NEAR(run.processes[1].wall_ms, 10.1, 1e-6);
  EXPECT_EQ(run.collectives.at(0).count, 1u);
  EXPECT_EQ(run.collectives.at(0).skew.count(), 1u);
}

TEST_F(StepsOf, ANumberThatThereIsNotIsRefused) {
  rank({});
  try {
    ask({.number = 5});
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("100 to 159"), std::string::npos) << error.what();
  }
  rank({.steps = 0});
  EXPECT_THROW(ask({.slowest = true}), std::invalid_argument);
}

TEST_F(StepsOf, StartUpIsToldByItself) {
  rank({});
  const RunAnswer run = ask();
  const ProcessAnswer& process = run.processes.at(0);
  ASSERT_TRUE(process.start_up && process.steady);
  EXPECT_NEAR(process.start_up->ms, 400, 1e-3);
  EXPECT_NEAR(*run.start_up_ms, 400, 1e-3);
  ASSERT_EQ(process.start_up->waits.size(), 1u);
  EXPECT_NEAR(process.start_up->waits[0].time.total_ns(), 360e6, 1);
  // Steps of 60 × 10 + 6 × 3 + 15 ms, with 2 ms of waits each.
  double all_ms = 0;
  for (int step = 0; step < 60; ++step) all_ms += length_of(step);
  EXPECT_NEAR(process.steady->wall_ms, all_ms, 1e-3);
  ASSERT_EQ(process.steady->waits.size(), 1u);
  EXPECT_NEAR(process.steady->waits[0].time.total_ns(), 120e6, 10);
  EXPECT_NEAR(process.steady->waits[0].share_pct, 100 * 120 / all_ms, 0.1);
  EXPECT_NEAR(process.steady->syncs.time.total_ns(), 180e6 + 6 * 0.2e6, 10) << "and the copies that block";
}

TEST_F(StepsOf, AWaitBeforeTheFirstIsNoCause) {
  rank({});
  for (const Finding& finding : find_causes(ask())) {
    EXPECT_LT(finding.share_pct, 30) << cause_id(finding.cause) << ": 360 of 1000 ms were one wait of the start-up";
    EXPECT_TRUE(finding.of_steps);
  }
}

TEST_F(StepsOf, ProgramsThatRepeatNothingAreNone) {
  rank({.steps = 12, .marks = false, .repeats = false});
  const StepAnswer steps = ask().steps;
  EXPECT_TRUE(steps.source == StepSource::kNone || std::abs(steps.lengths.median_ns - 10e6) < 1e5);
  for (const int few : {0, 1, 2}) {
    rank({.steps = few, .marks = false});
    EXPECT_EQ(ask().steps.source, StepSource::kNone) << few;
  }
}

TEST_F(StepsOf, RanksThatDisagreeAreNone) {
  rank({.rank = 0, .marks = false});
  rank({.rank = 1, .marks = false, .stretch = 2});
  EXPECT_EQ(ask().steps.source, StepSource::kNone);
  rank({.rank = 1, .marks = false, .stretch = 1.02});
  EXPECT_EQ(ask().steps.source, StepSource::kDetected);
}

TEST_F(StepsOf, RanksOfWhichOneMissesStepsAgree) {
  rank({.rank = 0, .steps = 90, .marks = false});
  rank({.rank = 1, .steps = 90, .marks = false, .gaps_from = 30, .gaps_to = 60});
  const RunAnswer run = ask();
  EXPECT_EQ(run.steps.source, StepSource::kDetected);
  for (const ProcessAnswer& process : run.processes) EXPECT_GT(process.steps.lengths.count, 50u);
}

TEST_F(StepsOf, ProcessesThatAreProfiledBesidesAreTheJobsAsTheyWereTraced) {
  for (const int number : {0, 1}) rank({.rank = number, .is_profiled = true});
  const RunAnswer run = ask();
  ASSERT_EQ(run.processes.size(), 4u);
  ASSERT_EQ(run.step_members.size(), 2u) << "where two processes were the same rank there were none";
  for (std::uint32_t member : {0u, 1u}) EXPECT_EQ(run.step_member(member)->mode, "trace");
}

}  // namespace
}  // namespace hostprobe::analysis
