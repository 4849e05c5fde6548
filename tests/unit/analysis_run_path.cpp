// The critical path of a job over its ranks: analysis/questions/{run_path,path_operations,job_graph,path_replay}
#include "analysis/run_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "answer/process.h"
#include "model/activity.h"
#include "simulated_ranks.h"

namespace hostprobe::analysis {
namespace {

constexpr PathClass kEachClass[] = {PathClass::kCpu, PathClass::kGpuCompute, PathClass::kCommunication,
                                    PathClass::kLaunch};

using RunPaths = SimulatedRanks;

double us(const RunPath& run, std::size_t member, PathClass one) {
  return 1e-3 * run.ranks[member].share_ns[static_cast<std::size_t>(one)];
}

TEST_F(RunPaths, GoThroughTheRankThatAllWaitFor) {
  ranks(3);
  for (std::uint64_t i = 0; i < 5; ++i)
    step(i, [&] {
      for (SimulatedRank& one : ranks_)
        for (int kernel = 0; kernel < 10; ++kernel) one.compute(one.rank == 1 ? 60 : 20);
      all_reduce(30);
      synchronise();
    });
  const RunPath run = ask().value();
  EXPECT_EQ(run.steps, 5u);
  EXPECT_EQ(run.looked_at, 5u);
  EXPECT_NEAR(us(run, 1, PathClass::kGpuCompute), 5 * 600, 1e-6);
  double communication_us = 0, other_us = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    communication_us += us(run, i, PathClass::kCommunication);
    if (i != 1) other_us += us(run, i, PathClass::kGpuCompute);
  }
  EXPECT_NEAR(communication_us, 5 * 30, 1e-6) << "the transfer, and none of the waiting";
  EXPECT_NEAR(other_us, 0, 1e-6);
  EXPECT_NEAR(run.path.drift_pct().value(), 0, 1e-6);
  // Without GPU work what remains is the transfer, the launches and what the host does.
  EXPECT_GT(run.path.gain_pct(PathClass::kGpuCompute).value(), 80);
  EXPECT_NEAR(run.path.gain_pct(PathClass::kCommunication).value(), 100 * 5 * 30 / (1e-3 * run.path.length_ns), 0.1);
}

TEST_F(RunPaths, GoThroughTheHostOfARankThatLaunchesLate) {
  ranks(2);
  step(0, [&] {
    ranks_[1].host_us += 500;
    for (SimulatedRank& one : ranks_) one.compute(20);
    all_reduce(30);
    synchronise();
  });
  const RunPath run = ask().value();
  EXPECT_NEAR(us(run, 1, PathClass::kCpu) + us(run, 0, PathClass::kCpu), 501, 1);
  EXPECT_GE(us(run, 1, PathClass::kCpu), 499);
  EXPECT_NEAR(run.path.drift_pct().value(), 0, 1e-6);
}

TEST_F(RunPaths, FollowMessagesToTheirSenders) {
  ranks(2);
  step(0, [&] {
    ranks_[0].compute(200);
    message(ranks_[0], ranks_[1], 10, false);
    ranks_[1].compute(300);
    synchronise();
  });
  const RunPath run = ask().value();
  EXPECT_NEAR(us(run, 0, PathClass::kGpuCompute), 200, 1e-6);
  EXPECT_NEAR(us(run, 1, PathClass::kGpuCompute), 300, 1e-6);
  EXPECT_NEAR(us(run, 1, PathClass::kCommunication), 10, 1e-6);
  EXPECT_NEAR(run.path.drift_pct().value(), 0, 1e-6);
}

TEST_F(RunPaths, FollowASendThatWaitsForItsReceiver) {
  ranks(2);
  step(0, [&] {
    ranks_[1].compute(300);
    message(ranks_[0], ranks_[1], 10, true);
    ranks_[0].compute(100);
    synchronise();
  });
  const RunPath run = ask().value();
  EXPECT_NEAR(us(run, 1, PathClass::kGpuCompute), 300, 1e-6);
  EXPECT_NEAR(us(run, 0, PathClass::kGpuCompute), 100, 1e-6);
}

TEST_F(RunPaths, LeaveOutTheTimeBetweenSteps) {
  ranks(2);
  for (std::uint64_t i = 0; i < 4; ++i) {
    step(i, [&] {
      for (SimulatedRank& one : ranks_) one.compute(50);
      all_reduce(10);
      synchronise();
    });
    for (SimulatedRank& one : ranks_) one.host_us += 10'000;
  }
  const RunPath run = ask().value();
  double steps_ns = 0;
  for (const Step& one : ranks_[0].steps.steps) steps_ns += one.length_ns();
  EXPECT_NEAR(run.path.length_ns, steps_ns, 0.01 * steps_ns);
}

TEST_F(RunPaths, AreNotKnownWhereARankOrACallIsMissing) {
  const auto make = [&] {
    ranks(3);
    step(0, [&] {
      for (SimulatedRank& one : ranks_) one.compute(50);
      all_reduce(10);
      synchronise();
    });
  };
  make();
  EXPECT_TRUE(ask());
  EXPECT_FALSE(ask({0, 1})) << "the third is in all collectives";
  make();
  ranks_[2].calls.erase(ranks_[2].calls.begin() + 1);
  EXPECT_FALSE(ask()) << "nobody knows which collective its kernel belongs to";
  make();
  ranks_[2].device.kernels_without_time = 1;
  EXPECT_FALSE(ask());
  make();
  ranks_[2].steps.steps.clear();
  EXPECT_FALSE(ask()) << "no step that all ranks made";
}

TEST_F(RunPaths, LeaveOutStepsOfWhichCallsAreMissing) {
  const auto make = [&](std::uint64_t first, std::uint64_t last) {
    ranks(2);
    for (std::uint64_t i = 0; i < 6; ++i)
      step(i, [&] {
        for (SimulatedRank& one : ranks_) one.compute(50);
        if (i >= first && i <= last) ranks_[1].leave_out_last_call();
        all_reduce(10);
        synchronise();
      });
  };
  make(2, 2);
  const RunPath run = ask().value();
  EXPECT_EQ(run.steps, 6u);
  EXPECT_EQ(run.looked_at, 5u);
  EXPECT_NEAR(run.path.drift_pct().value(), 0, 1e-6);
  ASSERT_TRUE(time_);
  EXPECT_EQ(time_->steps, 5u);
  make(0, 5);
  EXPECT_FALSE(ask()) << "not one is whole";
  EXPECT_FALSE(time_);
}

TEST_F(RunPaths, OfClocksThatAreAlignedAreTheSame) {
  const auto length = [&](double clock_us) {
    ranks(2);
    ranks_[1].clock_us = clock_us;
    step(0, [&] {
      for (SimulatedRank& one : ranks_) one.compute(one.rank == 1 ? 500 : 20);
      all_reduce(10);
      synchronise();
    });
    const RunPath run = ask().value();
    EXPECT_NEAR(us(run, 1, PathClass::kGpuCompute), 500, 1e-3);
    return run.path.length_ns;
  };
  EXPECT_NEAR(length(0), length(50'000), 1);
}

TEST_F(RunPaths, OfARunThatIsTooLargeLookAtSomeOfItsSteps) {
  ranks(2);
  for (std::uint64_t i = 0; i < 40; ++i)
    step(i, [&] {
      for (SimulatedRank& one : ranks_) one.compute(50);
      all_reduce(10);
      synchronise();
    });
  const std::size_t events = ranks_[0].calls.size() + ranks_[1].calls.size();
  const RunPath run = ask({}, events / 4).value();
  EXPECT_EQ(run.steps, 40u);
  EXPECT_GE(run.looked_at, 8u);
  EXPECT_LE(run.looked_at, 10u);
  EXPECT_FALSE(ask({}, 1)) << "not one fits";
  const RunPath whole = ask().value();
  EXPECT_NEAR(run.path.share_pct(PathClass::kGpuCompute), whole.path.share_pct(PathClass::kGpuCompute), 1);
  ranks_[0].steps = ranks_[1].steps = {};
  EXPECT_TRUE(ask()) << "without steps it is looked at as one";
  EXPECT_FALSE(ask({}, events / 4));
}

// Detected steps are counted from the first one that a rank shows.
TEST_F(RunPaths, PutDetectedStepsTogetherByTheTimeThatTheyShare) {
  ranks(2);
  for (std::uint64_t i = 0; i < 6; ++i)
    step(i, [&] {
      for (SimulatedRank& one : ranks_) one.compute(50);
      all_reduce(10);
      synchronise();
    });
  ranks_[1].steps.steps.erase(ranks_[1].steps.steps.begin());
  for (std::uint64_t i = 0; i < 5; ++i) ranks_[1].steps.steps[i].number = i;
  source_ = StepSource::kDetected;
  EXPECT_EQ(ask().value().steps, 5u);
}

// The first rank's host is ahead: it makes three steps in no time, and waits in the fourth.
TEST_F(RunPaths, OfRanksThatRunAheadAreTheEvenOnes) {
  ranks(2);
  for (std::uint64_t i = 0; i < 8; ++i)
    step(i, [&] {
      for (SimulatedRank& one : ranks_) one.compute(50);
      all_reduce(10);
      synchronise();
    });
  std::vector<Step>& steps = ranks_[0].steps.steps;
  for (std::size_t first = 0; first < steps.size(); first += 4)
    for (std::size_t i = first; i < first + 4; ++i) {
      const double begin_ns = steps[first].begin_ns, end_ns = steps[first + 3].end_ns;
      if (i > first) steps[i].begin_ns = begin_ns + 1e3 * static_cast<double>(i - first);
      steps[i].end_ns = i == first + 3 ? end_ns : begin_ns + 1e3 * static_cast<double>(i - first + 1);
    }
  source_ = StepSource::kDetected;
  EXPECT_EQ(ask().value().steps, 8u);
  ASSERT_TRUE(time_);
  EXPECT_EQ(time_->steps, 8u);
}

void expect_whole(const RunPath& run) {
  double shares = 0, of_ranks_ns = 0;
  for (const PathClass one : kEachClass) {
    shares += run.path.share_pct(one);
    EXPECT_GE(run.path.gain_pct(one).value(), -1e-9);
    EXPECT_LE(run.path.gain_pct(one).value(), 100 + 1e-9);
  }
  for (const RankPath& one : run.ranks) of_ranks_ns += std::accumulate(one.share_ns.begin(), one.share_ns.end(), 0.0);
  EXPECT_NEAR(shares, 100, 1e-9);
  EXPECT_NEAR(of_ranks_ns, run.path.length_ns, 1e-3);
  EXPECT_NEAR(run.path.drift_pct().value(), 0, 1e-6);
}

// It is not longer than the steps, and nothing that works all the time takes longer than it.
void expect_within(const RunPath& run, const std::vector<SimulatedRank>& ranks) {
  double steps_ns = 0;
  for (std::size_t i = 0; i < run.steps; ++i) {
    double begin_ns = 1e300, end_ns = 0;
    for (const SimulatedRank& one : ranks) {
      begin_ns = std::min(begin_ns, one.steps.steps[i].begin_ns);
      end_ns = std::max(end_ns, one.steps.steps[i].end_ns);
    }
    steps_ns += end_ns - begin_ns;
  }
  EXPECT_LE(run.path.length_ns, steps_ns + 1);
  for (const SimulatedRank& one : ranks) {
    double busy_ns = 0;
    for (const Activity& activity : one.device.activities)
      if (!activity.collective) busy_ns += activity.end_ns - activity.begin_ns;
    EXPECT_GE(run.path.length_ns, busy_ns - 1);
  }
}

// Programs of any shape: what is promised holds, and nothing depends on the order in which ranks are read.
TEST_F(RunPaths, HoldWhatTheyPromiseForJobsOfAnyShape) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ranks(2 + static_cast<std::int32_t>(random() % 4));
    for (std::uint64_t number = 0; number < 4; ++number) step(number, [&] { work(random); });
    const RunPath run = ask().value();
    EXPECT_EQ(run.looked_at, 4u);
    expect_whole(run);
    expect_within(run, ranks_);
    std::vector<std::size_t> order(ranks_.size());
    std::iota(order.rbegin(), order.rend(), 0);
    const RunPath other = ask(order).value();
    EXPECT_NEAR(other.path.length_ns, run.path.length_ns, 1e-3);
    for (std::size_t i = 0; i < kPathClasses; ++i) EXPECT_NEAR(other.path.without_ns[i], run.path.without_ns[i], 1e-3);
  }
}

}  // namespace
}  // namespace hostprobe::analysis
