// The critical path and what-if: analysis/questions/{critical_path,path_graph,path_replay}.cpp, model/host_calls.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/graph/critical_path.h"
#include "analysis/graph/path_graph.h"
#include "analysis/graph/step_sample.h"
#include "model/busy_time.h"
#include "model/timeline.h"
#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::TraceFile;

constexpr PathClass kEachClass[] = {PathClass::kCpu, PathClass::kGpuCompute, PathClass::kCommunication,
                                    PathClass::kLaunch};

class CriticalPath : public testing::Test {
 protected:
  CriticalPath() {
    file_.header.pid = 100;
    file_.hooks(
        {test::launch_hook("cuLaunchKernel"), test::sync_hook("cuCtxSynchronize"), test::wait_hook("sem_wait")});
    device_.source = ActivitySource::kAccount;
    device_.names = {"k"};
    device_.streams = {{0, 1}, {0, 2}};
  }
  void kernel(double launch_us, double begin_us, double end_us, std::uint32_t stream = 0, bool collective = false) {
    Activity activity;
    activity.begin_ns = 1000 * begin_us;
    activity.end_ns = 1000 * end_us;
    activity.launch_ns = 1000 * launch_us;
    activity.launch_tid = 100;
    activity.stream = stream;
    activity.collective = collective;
    device_.activities.push_back(activity);
  }
  std::optional<PathAnswer> ask(const std::vector<Window>& steps = {}, std::size_t most_events = kMostProcessEvents) {
    const Trace trace = write();
    Symbols symbols;
    return answer_critical_path(Timeline(trace, symbols), device_, {}, steps, nullptr, most_events);
  }
  PathGraph make_graph() {
    const Trace trace = write();
    Symbols symbols;
    return make_path_graph(Timeline(trace, symbols), device_, {{0, 1e9}});
  }
  Trace write() {
    file_.thread(test::thread_entry(100, "main"));
    file_.calls(100, 0, calls_);
    file_.write(folder_.file("t.hptrace"));
    std::stable_sort(device_.activities.begin(), device_.activities.end(),
                     [](const Activity& l, const Activity& r) { return l.begin_ns < r.begin_ns; });
    return read_trace(folder_.file("t.hptrace"));
  }
  TraceFile file_;
  test::TestFolder folder_;
  DeviceTimeline device_;
  std::vector<Call> calls_;
};

double us(const PathAnswer& path, PathClass one) { return 1e-3 * path.share_ns[static_cast<std::size_t>(one)]; }

TEST_F(CriticalPath, OfAFullQueueIsTheGpu) {
  for (int i = 0; i < 10; ++i) {
    calls_.push_back({.hook = 1, .begin_us = 3.0 * i, .end_us = 3.0 * i + 2});
    kernel(3.0 * i, i == 0 ? 2 : 2 + 50.0 * i, 52 + 50.0 * i);
  }
  calls_.push_back({.hook = 2, .begin_us = 40, .end_us = 505});
  const PathAnswer path = ask().value();
  EXPECT_NEAR(us(path, PathClass::kGpuCompute), 500, 1e-6);
  EXPECT_NEAR(us(path, PathClass::kLaunch), 2, 1e-6);
  EXPECT_NEAR(us(path, PathClass::kCpu), 3, 1e-6) << "from the end of the last kernel to the return of the wait";
  EXPECT_NEAR(path.drift_pct().value(), 0, 1e-6);
  EXPECT_NEAR(path.gain_pct(PathClass::kLaunch).value(), 100 * 2 / 505.0, 1e-6);
  EXPECT_GT(path.gain_pct(PathClass::kGpuCompute).value(), 80);
}

// What ran before in its stream is what a kernel waited for, though measured times say that the two overlap.
TEST_F(CriticalPath, OfAFullQueueIsTheGpuThoughTimesAreNotThatExact) {
  for (int i = 0; i < 10; ++i) {
    calls_.push_back({.hook = 1, .begin_us = 3.0 * i, .end_us = 3.0 * i + 2});
    kernel(3.0 * i, i == 0 ? 2 : 2 + 50.0 * i, (i == 9 ? 52 : 52.3) + 50.0 * i);
  }
  calls_.push_back({.hook = 2, .begin_us = 40, .end_us = 505});
  device_.source = ActivitySource::kEvents;
  EXPECT_GT(ask().value().gain_pct(PathClass::kGpuCompute).value(), 80);
}

// The two streams take turns: nothing else is there that a kernel could have waited for.
TEST_F(CriticalPath, GoesFromStreamToStreamThoughTimesAreNotThatExact) {
  for (int i = 0; i < 10; ++i) {
    calls_.push_back({.hook = 1, .begin_us = 3.0 * i, .end_us = 3.0 * i + 2});
    kernel(3.0 * i, i == 0 ? 2 : 2 + 50.0 * i, 52.3 + 50.0 * i, i % 2);
  }
  device_.source = ActivitySource::kEvents;
  const PathGraph graph = make_graph();
  for (std::uint32_t i = 2; i < graph.nodes.size(); ++i) {
    EXPECT_EQ(graph.nodes[i].from_other, i - 1);
    EXPECT_EQ(graph.nodes[i].rest_ns, 0);
  }
}

TEST_F(CriticalPath, KnowsWhatAWaitThatHadNothingToWaitForWouldHaveWaitedFor) {
  calls_ = {{.hook = 1, .begin_us = 0, .end_us = 2},
            {.hook = 1, .begin_us = 10, .end_us = 12},
            {.hook = 2, .begin_us = 100, .end_us = 101}};
  kernel(0, 2, 50), kernel(10, 12, 40, 1);
  device_.waits = {{100e3, 10e3, 100}, {100e3, 0, 100}, {200e3, 10e3, 100}};
  const PathGraph graph = make_graph();
  EXPECT_EQ(graph.done_before(0, 2), 0) << "of two streams the last to end";
  EXPECT_EQ(graph.done_before(0, 1), kNoActivity);
  EXPECT_EQ(graph.done_before(7, 0), kNoActivity) << "a thread of another process";
}

TEST_F(CriticalPath, OfAnEmptyQueueIsTheHost) {
  for (int i = 0; i < 10; ++i) {
    calls_.push_back({.hook = 1, .begin_us = 20.0 * i, .end_us = 20.0 * i + 2});
    kernel(20.0 * i, 20.0 * i + 2, 20.0 * i + 5);
  }
  calls_.push_back({.hook = 2, .begin_us = 183, .end_us = 186});
  const PathAnswer path = ask().value();
  EXPECT_NEAR(us(path, PathClass::kCpu), 9 * 18 + 1, 1e-6);
  EXPECT_NEAR(us(path, PathClass::kLaunch), 20, 1e-6);
  EXPECT_NEAR(us(path, PathClass::kGpuCompute), 3, 1e-6) << "only the last kernel is waited for";
  EXPECT_NEAR(path.gain_pct(PathClass::kGpuCompute).value(), 100 * 3 / 186.0, 1.1);
}

TEST_F(CriticalPath, GoesOverFromStreamToStreamWhereOneWaitsForTheOther) {
  calls_ = {{.hook = 1, .begin_us = 0, .end_us = 2},
            {.hook = 1, .begin_us = 3, .end_us = 5},
            {.hook = 2, .begin_us = 6, .end_us = 200}};
  kernel(0, 2, 100, 0, true);
  kernel(3, 100, 200, 1);
  const PathAnswer path = ask().value();
  EXPECT_NEAR(us(path, PathClass::kCommunication), 98, 1e-6);
  EXPECT_NEAR(us(path, PathClass::kGpuCompute), 100, 1e-6);
  EXPECT_NEAR(path.gain_pct(PathClass::kCommunication).value(), 100 * 97 / 200.0, 1) << "then the launch is the limit";
}

TEST_F(CriticalPath, FollowsTheWakerOfAWait) {
  calls_ = {{.hook = 1, .begin_us = 0, .end_us = 2},
            {.hook = 3, .begin_us = 5, .end_us = 105, .b = pack_post(200, test::at_us(100)), .c = 1},
            {.hook = 1, .begin_us = 106, .end_us = 108},
            {.hook = 2, .begin_us = 109, .end_us = 119}};
  kernel(0, 2, 4);
  kernel(106, 108, 118);
  file_.thread(test::thread_entry(200, "loader"));
  file_.calls(200, 0, {{.hook = 3, .begin_us = 1, .end_us = 20}});
  const PathAnswer path = ask().value();
  EXPECT_NEAR(path.length_ns, 119'000, 1e-3);
  EXPECT_NEAR(us(path, PathClass::kCpu), 119 - 2 - 10, 1e-6);
  EXPECT_NEAR(path.drift_pct().value(), 0, 1e-6);
}

TEST_F(CriticalPath, IsNotKnownWithoutActivitiesOrRecords) {
  calls_ = {{.hook = 1, .begin_us = 0, .end_us = 2}};
  EXPECT_FALSE(ask());
  kernel(0, 2, 4);
  EXPECT_TRUE(ask());
  kernel(500, 502, 504);
  EXPECT_FALSE(ask()) << "of half of what ran nobody knows the launch";
}

TEST_F(CriticalPath, OfAProcessThatIsTooLargeGoesThroughSomeOfItsSteps) {
  constexpr int kSteps = 200;
  std::vector<Window> steps;
  for (int i = 0; i < kSteps; ++i) {
    const double at_us = 100.0 * i;
    calls_.push_back({.hook = 1, .begin_us = at_us + 10, .end_us = at_us + 12});
    kernel(at_us + 10, at_us + 12, at_us + 82);
    calls_.push_back({.hook = 2, .begin_us = at_us + 13, .end_us = at_us + 83});
    steps.push_back({1000 * at_us, 1000 * (at_us + 100)});
  }
  const PathAnswer whole = ask(steps).value();
  EXPECT_EQ(whole.stretches, 200u);
  EXPECT_NEAR(whole.length_ns, 200 * 100'000.0, 1);
  EXPECT_NEAR(whole.recorded_ns, kMostReplayed * 100'000.0, 1) << "not more are run again";
  const PathAnswer some = ask(steps, 3 * kSteps / 4).value();
  EXPECT_EQ(some.stretches, 50u);
  for (const PathClass one : {PathClass::kCpu, PathClass::kGpuCompute, PathClass::kLaunch}) {
    EXPECT_NEAR(some.share_pct(one), whole.share_pct(one), 1e-6);
    EXPECT_NEAR(some.gain_pct(one).value(), whole.gain_pct(one).value(), 1e-6);
  }
  EXPECT_NEAR(some.share_pct(PathClass::kGpuCompute), 70, 1e-6);
  EXPECT_EQ(ask(steps, 1).value().stretches, 200u) << "not one fits";
}

// Programs of any shape: a simulation in which each moment is the latest of what it waits for.
TEST_F(CriticalPath, HoldsWhatItPromisesForProgramsOfAnyShape) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    calls_.clear();
    device_.activities.clear();
    file_ = TraceFile();
    file_.header.pid = 100;
    file_.hooks({test::launch_hook("cuLaunchKernel"), test::sync_hook("cuCtxSynchronize")});
    double at_us = 1, tail_us[2] = {0, 0};
    for (int i = 0; i < 60; ++i) {
      at_us += random() % 8;
      if (random() % 9 == 0) {
        const double end_us = std::max({at_us + 1, tail_us[0] + 1, tail_us[1] + 1});
        calls_.push_back({.hook = 2, .begin_us = at_us, .end_us = end_us});
        at_us = end_us;
        continue;
      }
      const unsigned stream = random() % 2;
      calls_.push_back({.hook = 1, .begin_us = at_us, .end_us = at_us + 2});
      double begin_us = std::max(at_us + 2, tail_us[stream]);
      if (random() % 5 == 0) begin_us = std::max(begin_us, tail_us[1 - stream]);
      tail_us[stream] = begin_us + 1 + random() % 30;
      kernel(at_us, begin_us, tail_us[stream], stream, random() % 6 == 0);
      at_us += 2;
    }
    const double end_us = std::max({at_us + 1, tail_us[0] + 1, tail_us[1] + 1});
    calls_.push_back({.hook = 2, .begin_us = at_us, .end_us = end_us});
    const PathAnswer path = ask().value();
    double shares = 0;
    for (const PathClass one : kEachClass) shares += path.share_pct(one);
    EXPECT_NEAR(shares, 100, 1e-9) << seed;
    EXPECT_LE(path.length_ns, 1000 * end_us + 1e-3) << seed;
    EXPECT_NEAR(path.drift_pct().value(), 0, 1e-6) << seed;
    for (const PathClass one : kEachClass) {
      EXPECT_GE(path.gain_pct(one).value(), -1e-9) << seed;
      EXPECT_LE(path.gain_pct(one).value(), 100 + 1e-9) << seed;
    }
    // The longest single resource is a stream, or the thread outside of its waits.
    double stream_ns[2] = {0, 0};
    for (const Activity& activity : device_.activities)
      stream_ns[activity.stream] += activity.end_ns - activity.begin_ns;
    EXPECT_GE(path.length_ns + 1e-3, std::max(stream_ns[0], stream_ns[1])) << seed;
  }
}

// As where another rank ended it: what is left of the wait is no time of the thread's own.
TEST_F(CriticalPath, OfAStepThatEndsInAWaitIsOverWhenTheWaitIs) {
  calls_ = {{.hook = 1, .begin_us = 0, .end_us = 2}, {.hook = 2, .begin_us = 5, .end_us = 101}};
  kernel(0, 2, 100);
  const PathAnswer path = ask({{0, 50e3}}).value();
  EXPECT_GT(path.gain_pct(PathClass::kGpuCompute).value(), 80);
}

TEST_F(CriticalPath, OfStepsIsThatOfEachTogether) {
  for (int i = 0; i < 10; ++i) {
    calls_.push_back({.hook = 1, .begin_us = 100.0 * i, .end_us = 100.0 * i + 2});
    kernel(100.0 * i, 100.0 * i + 2, 100.0 * i + 52);
    calls_.push_back({.hook = 2, .begin_us = 100.0 * i + 3, .end_us = 100.0 * i + 53});
  }
  std::vector<Window> steps;
  for (int i = 1; i < 9; ++i) steps.push_back({100e3 * i, 100e3 * (i + 1)});
  const PathAnswer path = ask(steps).value();
  EXPECT_NEAR(path.length_ns, 800e3, 1e-3);
  EXPECT_NEAR(us(path, PathClass::kGpuCompute), 8 * 50, 1e-6);
  EXPECT_NEAR(us(path, PathClass::kLaunch), 8 * 2, 1e-6);
  EXPECT_NEAR(path.drift_pct().value(), 0, 1e-6);
}

}  // namespace
}  // namespace hostprobe::analysis
