// The critical path of a job over its ranks: analysis/questions/{run_path,path_operations,job_graph,path_replay}
#include "analysis/questions/run_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "analysis/trace/reader.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint16_t kLaunch = 1, kSync = 2, kAllReduce = 3, kSend = 4, kRecv = 5;
constexpr std::uint64_t kComm = 0xc0ffee;
constexpr PathClass kEachClass[] = {PathClass::kCpu, PathClass::kGpuCompute, PathClass::kCommunication,
                                    PathClass::kLaunch};

test::HookLook nccl_hook(const std::string& name) {
  return {.name = name,
          .family = Family::kNccl,
          .labels = {"comm:hex", "count", "call:nccl", "stream:hex", "place:ranks"},
          .blocking = false};
}

// One rank whose every moment is the latest of what it waits for.
struct SimulatedRank {
  std::int32_t rank = 0, ranks = 1;
  double clock_us = 0;  // what its clock is ahead by
  double host_us = 1, tail_us = 0;
  std::uint32_t collectives = 0, messages = 0;
  std::vector<test::Call> calls;
  DeviceTimeline device;
  StepAnswer steps;

  void record(test::Call call) {
    call.begin_us += clock_us;
    call.end_us += clock_us;
    calls.push_back(call);
  }
  void kernel(double launch_us, double begin_us, double end_us, bool collective) {
    Activity one;
    one.begin_ns = 1000 * (begin_us + clock_us);
    one.end_ns = 1000 * (end_us + clock_us);
    one.launch_ns = 1000 * (launch_us + clock_us);
    one.launch_tid = 100;
    one.collective = collective;
    device.activities.push_back(one);
    tail_us = end_us;
  }
  void compute(double us) {
    record({.hook = kLaunch, .begin_us = host_us, .end_us = host_us + 2});
    const double begin_us = std::max(host_us + 2, tail_us);
    kernel(host_us, begin_us, begin_us + us, false);
    host_us += 2;
  }
  // The call, and the begin of its kernel.
  double enter(std::uint16_t hook, std::int32_t peer) {
    const std::uint32_t number = hook == kAllReduce ? ++collectives : ++messages;
    record({.hook = hook,
            .begin_us = host_us,
            .end_us = host_us + 3,
            .a = kComm,
            .b = 16,
            .c = pack_nccl_call(number, 0, 7, 0),
            .e = pack_nccl_ranks(rank, ranks, peer)});
    record({.hook = kLaunch, .begin_us = host_us + 0.5, .end_us = host_us + 2.5});
    return std::max(host_us + 2.5, tail_us);
  }
  void enter_until(double begin_us, double end_us) {
    kernel(host_us + 0.5, begin_us, end_us, true);
    host_us += 3;
  }
  void synchronise() {
    const double end_us = std::max(host_us + 1, tail_us + 1);
    record({.hook = kSync, .begin_us = host_us, .end_us = end_us});
    host_us = end_us;
  }
  void add_step(std::uint64_t number, double begin_us) {
    steps.steps.push_back({number, 1000 * (begin_us + clock_us), 1000 * (host_us + clock_us), 0});
  }
};

class RunPaths : public testing::Test {
 protected:
  void ranks(std::int32_t count) {
    ranks_.assign(static_cast<std::size_t>(count), {});
    for (std::int32_t i = 0; i < count; ++i) {
      ranks_[static_cast<std::size_t>(i)].rank = i;
      ranks_[static_cast<std::size_t>(i)].ranks = count;
    }
  }
  void all_reduce(double transfer_us) {
    std::vector<double> begins;
    for (SimulatedRank& one : ranks_) begins.push_back(one.enter(kAllReduce, -1));
    const double last_us = *std::max_element(begins.begin(), begins.end());
    for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].enter_until(begins[i], last_us + transfer_us);
  }
  void message(SimulatedRank& from, SimulatedRank& to, double transfer_us, bool waits) {
    const double sent_us = from.enter(kSend, to.rank), taken_us = to.enter(kRecv, from.rank);
    from.enter_until(sent_us, (waits ? std::max(sent_us, taken_us) : sent_us) + transfer_us);
    to.enter_until(taken_us, std::max(sent_us, taken_us) + transfer_us);
  }
  template <typename Work>
  void step(std::uint64_t number, Work work) {
    std::vector<double> begins;
    for (const SimulatedRank& one : ranks_) begins.push_back(one.host_us);
    work();
    for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].add_step(number, begins[i]);
  }
  void synchronise() {
    for (SimulatedRank& one : ranks_) one.synchronise();
  }
  void work(std::mt19937& random) {
    for (int i = 0; i < 12; ++i) {
      for (SimulatedRank& one : ranks_) {
        one.host_us += random() % 20;
        if (random() % 3 != 0) one.compute(1 + random() % 50);
        if (random() % 8 == 0) one.synchronise();
      }
      if (random() % 3 == 0) all_reduce(1 + random() % 10);
      if (random() % 3 != 0) continue;
      const std::size_t from = random() % ranks_.size(), to = (from + 1) % ranks_.size();
      message(ranks_[from], ranks_[to], 1 + random() % 10, random() % 2 == 0);
    }
    synchronise();
  }

  std::optional<RunPath> ask(std::vector<std::size_t> order = {}, std::size_t most_events = kMostPathEvents) {
    if (order.empty()) {
      order.resize(ranks_.size());
      std::iota(order.begin(), order.end(), 0);
    }
    std::vector<std::unique_ptr<Trace>> traces;
    std::vector<std::unique_ptr<Timeline>> timelines;
    std::vector<std::unique_ptr<ProcessAnswer>> answers;
    std::vector<RunPathMember> members;
    for (const std::size_t i : order) {
      traces.push_back(std::make_unique<Trace>(written(ranks_[i])));
      timelines.push_back(std::make_unique<Timeline>(*traces.back(), symbols_));
      answers.push_back(std::make_unique<ProcessAnswer>());
      ProcessAnswer& answer = *answers.back();
      answer.rank = ranks_[i].rank;
      answer.records = ranks_[i].calls.size();
      answer.steps = ranks_[i].steps;
      if (!answer.steps.steps.empty()) answer.steps.source = source_;
      answer.steps.thread = timelines.back()->tracks()[0].key();
      const auto device = std::make_shared<const DeviceTimeline>(ranks_[i].device);
      members.push_back({timelines.back().get(), &answer, [device] { return device; },
                         std::make_shared<const CollectiveKernels>(*device), clock_of(ranks_[i])});
    }
    return answer_run_path(members, 2, most_events);
  }

  std::vector<SimulatedRank> ranks_;
  StepSource source_ = StepSource::kMarks;

 private:
  Trace written(SimulatedRank& rank) {
    test::TraceFile file;
    file.header.pid = 100;
    file.hooks({test::launch_hook("cuLaunchKernel"), test::sync_hook("cuStreamSynchronize"), nccl_hook("ncclAllReduce"),
                nccl_hook("ncclSend"), nccl_hook("ncclRecv")});
    file.thread(test::thread_entry(100, "main"));
    file.calls(100, 0, rank.calls);
    file.write(folder_.file("t.hptrace"));
    rank.device.source = ActivitySource::kSimulated;
    rank.device.names = {"k"};
    rank.device.streams = {{0, 1}};
    return read_trace(folder_.file("t.hptrace"));
  }
  static HostClock clock_of(const SimulatedRank& rank) {
    HostClock clock;
    clock.offset_ns = 1000 * rank.clock_us;
    return clock;
  }
  test::TestFolder folder_;
  Symbols symbols_;
};

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
  EXPECT_NEAR(run.path.drift_pct(), 0, 1e-6);
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
  EXPECT_NEAR(run.path.drift_pct(), 0, 1e-6);
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
  EXPECT_NEAR(run.path.drift_pct(), 0, 1e-6);
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
  EXPECT_NEAR(run.path.drift_pct(), 0, 1e-6);
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
