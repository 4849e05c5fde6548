// Which of the things that threads make is input of the step: analysis/step_time/step_inputs.h
#include <gtest/gtest.h>

#include "analysis/step_time/step_inputs.h"
#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

constexpr std::int32_t kSteps = 0, kLoader = 1, kPlanner = 2;

// Each step takes things and copies, or launches, in a millisecond.
struct MadeSteps {
  PathGraph graph;
  Function copy, kernel;
  double now_ns = 0;

  MadeSteps() {
    graph.host.threads.resize(3);
    copy.role = HookRole::kCopyToDevice;
    kernel.role = HookRole::kLaunch;
  }
  std::vector<HostCall>& calls(std::int32_t thread) {
    return graph.host.threads[static_cast<std::size_t>(thread)].calls;
  }
  HostCall call(double begin_ns, double end_ns) const {
    HostCall made;
    made.begin_ns = begin_ns;
    made.post_ns = made.end_ns = end_ns;
    return made;
  }
  void wait(std::int32_t thread, std::int32_t waker, double begin_ns, double end_ns) {
    HostCall made = call(begin_ns, end_ns);
    made.type = HostCallType::kWait;
    made.waker = waker;
    calls(thread).push_back(made);
  }
  void waits_for(std::int32_t maker) { wait(kSteps, maker, now_ns, now_ns + 100e3), now_ns += 150e3; }
  // It has been made already; its maker waited for place.
  void takes_from(std::int32_t maker) { wait(maker, kSteps, now_ns - 400e3, now_ns), now_ns += 50e3; }
  void launches(const Function& function) {
    HostCall made = call(now_ns, now_ns + 10e3);
    made.type = HostCallType::kLaunch;
    made.function = &function;
    calls(kSteps).push_back(made), now_ns += 500e3;
  }
  bool is_input(std::int32_t maker) const { return StepInputs(graph).has(kSteps, maker); }
};

TEST(StepInputs, AreCopiedToTheGpuNext) {
  MadeSteps made;
  for (int i = 0; i < 10; ++i) {
    made.waits_for(kLoader);
    made.launches(made.copy);
    made.waits_for(kPlanner);
    made.launches(made.kernel);
  }
  EXPECT_TRUE(made.is_input(kLoader));
  EXPECT_FALSE(made.is_input(kPlanner));
}

TEST(StepInputs, AreWhatIsTakenLastAlsoWhereThatDoesNotBlock) {
  MadeSteps made;
  for (int i = 0; i < 10; ++i) {
    made.waits_for(kPlanner);
    made.takes_from(kLoader);
    made.launches(made.copy);
  }
  EXPECT_FALSE(made.is_input(kPlanner));
}

// Now the product is late, and now the batch: never both.
TEST(StepInputs, AreWhatTheCopyFollowsAtOnceWhereTheyAreNeverWaitedForTogether) {
  MadeSteps made;
  for (int i = 0; i < 20; ++i) {
    made.waits_for(i % 2 == 0 ? kPlanner : kLoader);
    if (i % 2 == 0) made.now_ns += 200e3;
    made.launches(made.copy);
  }
  EXPECT_TRUE(made.is_input(kLoader));
  EXPECT_FALSE(made.is_input(kPlanner));
}

TEST(StepInputs, StayThoseWhereAThreadIsWokenThatWaitsForOthers) {
  MadeSteps made;
  for (int i = 0; i < 10; ++i) {
    made.wait(kPlanner, kLoader, made.now_ns - 800e3, made.now_ns - 700e3);
    made.wait(kPlanner, kLoader, made.now_ns - 700e3, made.now_ns - 600e3);
    made.waits_for(kLoader);
    made.takes_from(kPlanner);
    made.launches(made.copy);
  }
  EXPECT_TRUE(made.is_input(kLoader));
}

// The batch is taken behind the product, from a process whose wait for place ends some time after it was let go on.
struct StepsWithAWorker : MadeSteps {
  Function read;
  StepsWithAWorker() {
    read.traits = kWaits;
    graph.host.threads[kLoader].process = 1;
    for (int i = 0; i < 10; ++i) {
      waits_for(kPlanner);
      wait(kLoader, kSteps, now_ns - 400e3, now_ns + 60e3);
      launches(copy);
    }
  }
};

TEST(StepInputs, AreWhatAWorkerHasMadeThatGoesOnSoon) { EXPECT_FALSE(StepsWithAWorker().is_input(kPlanner)); }

TEST(StepInputs, AreWhatAThreadHandsOnThatWaitsForOthers) {
  StepsWithAWorker made;
  for (int i = 0; i < 10; ++i) {
    HostCall own = made.call(i * 1e3, i * 1e3 + 500);
    own.function = &made.read;
    made.calls(kPlanner).push_back(own);
  }
  EXPECT_TRUE(made.is_input(kPlanner));
}

TEST(StepInputs, AreNoneWhereNobodyWaitsOrLaunches) {
  MadeSteps made;
  EXPECT_FALSE(made.is_input(kLoader));
  made.waits_for(kLoader);
  EXPECT_FALSE(made.is_input(kLoader));
}

}  // namespace
}  // namespace hostprobe::analysis
