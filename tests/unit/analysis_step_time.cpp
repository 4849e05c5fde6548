// Where the time of the steps went: analysis/questions/causes/
#include "analysis/step_time/step_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "step_times.h"

namespace hostprobe::analysis {
namespace {

TEST_F(StepTimes, OfAHealthyJobAreTheGpus) {
  ranks(4);
  steps(10, [] {});
  EXPECT_GT(lost_us(Cause::kGpuBound) + lost_us(Cause::kTransfer), 0.97 * 1e-3 * time_->length_ns / 10);
  EXPECT_NEAR(lost_us(Cause::kTransfer), 30, 1);
}

TEST_F(StepTimes, OfARankThatWorksBeforeItLaunchesAreItsHostWork) {
  ranks(4);
  steps(10, [this] { ranks_[2].host_us += 500; });
  EXPECT_NEAR(lost_us(Cause::kHostWork, 2), 500, 5) << "of every rank: the others wait at the end, when its GPU works";
  EXPECT_NEAR(lost_us(Cause::kHostWork), lost_us(Cause::kHostWork, 2), 1e-6);
  EXPECT_NEAR(gain_us(Cause::kHostWork), 500, 5);
}

TEST_F(StepTimes, OfARankThatHasNoCpuAreThatWhereItsSwitchesAreRecorded) {
  ranks(3);
  steps(10, [this] {
    ranks_[1].lose_cpu(400);
    ranks_[1].host_us += 200;
  });
  EXPECT_NEAR(lost_us(Cause::kCpuContention, 1), 400, 5);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 1), 200, 5);
}

TEST_F(StepTimes, LackNoMoreCpuThanTheKernelCounted) {
  ranks(3);
  steps(10, [this] { ranks_[1].wait_on(1700, 40); });
  EXPECT_NEAR(lost_us(Cause::kCpuContention, 1), 40, 5);
  EXPECT_GT(lost_us(Cause::kHostWork, 1), 1400) << "it waits on: what woke it first was not all";
}

TEST_F(StepTimes, LackNoCpuWhereTheKernelCountedNone) {
  ranks(3);
  steps(10, [this] { ranks_[1].wait_on(1700, 0); });
  EXPECT_EQ(lost_us(Cause::kCpuContention), 0);
}

TEST_F(StepTimes, ArePiecesThatEachBelongToOneCauseAndAreNamedOnce) {
  ranks(3);
  steps(10, [this] { ranks_[1].host_us += 500; });
  EXPECT_EQ(named_pieces(Cause::kHostWork), 3u) << "the two that wait for it name no pieces of their own";
}

// Of the worst step, in its lanes.
class WorstStep : public StepTimes {
 protected:
  const StepLanes& worst() const { return *time_->worst; }
  // Of those lanes of a rank's.
  std::vector<const StepLane*> lanes(LaneKind kind, std::uint32_t member) const {
    std::vector<const StepLane*> found;
    for (const StepLane& lane : worst().lanes)
      if (lane.kind == kind && lane.member == member) found.push_back(&lane);
    return found;
  }
  double cause_us(std::uint32_t member, Cause cause) const {
    double ns = 0;
    for (const LaneSpan& span : lanes(LaneKind::kRank, member).at(0)->spans)
      if (span.cause == cause) ns += span.ns;
    return 1e-3 * ns;
  }
  void expect_spans_apart() const {
    for (const StepLane& lane : worst().lanes)
      for (std::size_t i = 0; i < lane.spans.size(); ++i) {
        EXPECT_GE(lane.spans[i].at_ns, i == 0 ? 0 : lane.spans[i - 1].at_ns + lane.spans[i - 1].ns - 1) << lane.title;
        EXPECT_LE(lane.spans[i].at_ns + lane.spans[i].ns, worst().length_ns + 1) << lane.title;
      }
  }
};

TEST_F(WorstStep, IsTheOneThatTookLongerThanOthersOfItsType) {
  ranks(4);
  std::uint64_t number = 0;
  steps(10, [&] {
    if (number++ == 6) ranks_[2].host_us += 900;
  });
  ASSERT_TRUE(time_->worst);
  EXPECT_EQ(worst().number, 6u);
  EXPECT_NEAR(cause_us(2, Cause::kHostWork), 900, 25);
  EXPECT_NEAR(cause_us(0, Cause::kHostWork), 900, 25) << "it waits for what the other rank does meanwhile";
  EXPECT_EQ(worst().ranks_left_out, 0u);
  expect_spans_apart();
}

TEST_F(WorstStep, ShowsTheStepsThreadAndTheGpuOfEachRankAndWhoLetsWhomGoOn) {
  ranks(3);
  steps(10, [this] { ranks_[1].host_us += 500; });
  std::set<std::uint32_t> awaited;
  for (std::uint32_t member = 0; member < 3; ++member) {
    ASSERT_FALSE(lanes(LaneKind::kThread, member).empty());
    ASSERT_EQ(lanes(LaneKind::kGpu, member).size(), 1u);
    std::set<LaneWork> works;
    for (const LaneSpan& span : lanes(LaneKind::kGpu, member)[0]->spans) works.insert(span.work);
    EXPECT_TRUE(works.contains(LaneWork::kCompute) || works.contains(LaneWork::kTransfer));
  }
  for (const LaneWake& wake : worst().wakes) {
    ASSERT_LT(std::max(wake.from, wake.to), worst().lanes.size());
    EXPECT_NE(wake.from, wake.to);
    awaited.insert(worst().lanes[wake.from].member);
  }
  EXPECT_TRUE(awaited.contains(1)) << "the others wait for it";
}

TEST_F(WorstStep, OfManyRanksShowsThoseOnWhichMostWasLost) {
  ranks(12);
  steps(10, [this] { ranks_[9].host_us += 500; });
  std::set<std::uint32_t> shown;
  for (const StepLane& lane : worst().lanes) shown.insert(lane.member);
  EXPECT_EQ(shown.size(), 8u);
  EXPECT_TRUE(shown.contains(9));
  EXPECT_EQ(worst().ranks_left_out, 4u);
}

TEST_F(StepTimes, OfARankOnSlowCpusAreThatAsFarAsItsWorkTookLonger) {
  ranks(3);
  steps(20, [this] {
    for (SimulatedRank& one : ranks_) one.run_at(one.rank == 1 ? 1.9 : 3.8);
    ranks_[1].host_us += 500;
  });
  EXPECT_NEAR(lost_us(Cause::kLowFrequency, 1), 250, 10);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 1), 250, 10);
  EXPECT_NEAR(gain_us(Cause::kLowFrequency), 250, 10);
  EXPECT_NEAR(lost_us(Cause::kLowFrequency), lost_us(Cause::kLowFrequency, 1), 1e-6);
}

TEST_F(StepTimes, AreOfSlowerCpusThanBefore) {
  ranks(1);
  std::uint64_t number = 0;
  steps(30, [&] {
    ranks_[0].run_at(++number <= 10 ? 3.8 : 1.9);
    ranks_[0].host_us += 500;
  });
  EXPECT_NEAR(lost_us(Cause::kLowFrequency), 500.0 / 2 * 20 / 30, 20);
}

TEST_F(StepTimes, AreNoSlowCpusWhereThatIsNotSure) {
  const auto lost = [this](double ghz, double elsewhere_ghz, std::uint64_t samples) {
    ranks(2);
    std::uint64_t number = 0;
    steps(20, [&] {
      if (number++ < samples) ranks_[0].run_at(ghz), ranks_[1].run_at(elsewhere_ghz);
      ranks_[0].host_us += 500;
    });
    return lost_us(Cause::kLowFrequency);
  };
  EXPECT_EQ(lost(3.3, 3.8, 20), 0) << "13 % less may be a busy sibling";
  EXPECT_EQ(lost(1.9, 3.8, 9), 0) << "measured too seldom";
  EXPECT_EQ(lost(1.9, 1.9, 20), 0) << "all are";
  EXPECT_GT(lost(1.9, 3.8, 20), 0);
}

TEST_F(StepTimes, OfOneDisturbedMeasurementAreNothing) {
  ranks(2);
  std::uint64_t number = 0;
  steps(20, [&] {
    ranks_[0].run_at(number % 7 == 3 ? 0.4 : 3.8), ranks_[1].run_at(3.8);
    ++number;
    ranks_[0].host_us += 500;
  });
  EXPECT_EQ(lost_us(Cause::kLowFrequency), 0);
}

TEST_F(StepTimes, WouldGainNoMoreThanTheNextRankAllows) {
  ranks(2);
  steps(10, [this] {
    ranks_[0].host_us += 400;
    ranks_[1].allocate(300);
  });
  EXPECT_NEAR(gain_us(Cause::kHostWork), 100, 10) << "then the other one is late";
  EXPECT_NEAR(gain_us(Cause::kAllocStall), 0, 10);
}

TEST_F(StepTimes, WouldGainAlsoWhatTheSameCauseHidesElsewhere) {
  ranks(2);
  for (std::uint64_t i = 0; i < 10; ++i)
    step(i, [&] {
      ranks_[0].allocate(500);
      all_reduce(30);
      ranks_[1].allocate(450);
      for (SimulatedRank& one : ranks_) one.compute(20);
      all_reduce(30);
      synchronise();
    });
  ask();
  ASSERT_TRUE(time_);
  EXPECT_NEAR(lost_us(Cause::kAllocStall), 500, 10) << "while one rank waits for the other it loses nothing by its own";
  EXPECT_NEAR(gain_us(Cause::kAllocStall), 500, 10);
}

TEST_F(StepTimes, HiddenBehindTheQueueCostNothing) {
  ranks(2);
  for (std::uint64_t i = 0; i < 10; ++i)
    step(i, [&] {
      for (SimulatedRank& one : ranks_)
        for (int kernel = 0; kernel < 40; ++kernel) {
          if (kernel == 30) one.host_us += 300;
          one.compute(20);
        }
      all_reduce(30);
      synchronise();
    });
  ask();
  ASSERT_TRUE(time_);
  EXPECT_EQ(lost_us(Cause::kHostWork), 0);
  expect_whole();
}

// What the main thread does between its post and its wait makes nothing later: the helper is on its way meanwhile.
TEST_F(StepTimes, OfThreadsThatHandWorkToEachOtherAreWhatTheWakesTake) {
  ranks(2);
  steps(10, [this] { ranks_[1].hand_over(5, 40, 10); });
  EXPECT_NEAR(lost_us(Cause::kIdleStateExit, 1), 80, 1);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 1), 10, 1);
  EXPECT_NEAR(gain_us(Cause::kIdleStateExit), 80, 2);
}

TEST_F(StepTimes, OfAThreadThatWokeAHelperLongBeforeItWaitsAreTheHelpersWork) {
  ranks(2);
  steps(10, [this] { ranks_[1].hand_over(50, 20, 100); });
  EXPECT_NEAR(lost_us(Cause::kHostWork, 1), 100, 1) << "of which 30 before the main thread waited for it";
  EXPECT_NEAR(lost_us(Cause::kIdleStateExit, 1), 40, 1);
}

TEST_F(StepTimes, OfAnAllocationThatStallsAreThatRanks) {
  ranks(3);
  steps(10, [this] { ranks_[1].allocate(700); });
  EXPECT_NEAR(lost_us(Cause::kAllocStall, 1), 700, 5);
  for (const LostTime& lost : time_->lost)
    EXPECT_EQ(lost.site.function == "cuMemAlloc_v2", lost.cause == Cause::kAllocStall);
}

TEST_F(StepTimes, OfAStreamThatStandsStillForAFunctionOfTheProgramsAreItsHostWork) {
  ranks(2);
  steps(10, [this] {
    ranks_[0].compute(20);
    ranks_[0].call_back(900);
  });
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 900, 25);
  EXPECT_NEAR(gain_us(Cause::kHostWork), 900, 25);
  for (const LostTime& lost : time_->lost)
    if (lost.cause == Cause::kHostWork) {
      EXPECT_EQ(lost.site.function, "cuLaunchHostFunc");
    }
}

TEST_F(StepTimes, AreThatAlsoWhereTheStreamWasEmpty) {
  ranks(1);
  steps(10, [this] { ranks_[0].call_back(900); });
  EXPECT_NEAR(lost_us(Cause::kHostWork), 0.9 * 900, 5) << "in the first step nothing had run before";
  EXPECT_NEAR(gain_us(Cause::kHostWork), 0.9 * 900, 5);
}

TEST_F(StepTimes, OfASynchroniseThatGoesOnBehindTheWorkOfTheGpuAreUnknown) {
  ranks(1);
  for (std::uint64_t i = 0; i < 10; ++i)
    step(i, [&] {
      ranks_[0].compute(500);
      ranks_[0].tail_us += 2000;
      synchronise();
    });
  ask();
  ASSERT_TRUE(time_);
  expect_whole();
  EXPECT_NEAR(lost_us(Cause::kUnknown), 1800, 25) << "its work is not measured, so it may have lasted as long";
  EXPECT_NEAR(lost_us(Cause::kSyncCalls), 200, 25) << "as long as the way back may take";
}

TEST_F(StepTimes, OfASynchroniseThatWaitsForAFunctionOfTheProgramsAreItsHostWork) {
  ranks(1);
  for (std::uint64_t i = 0; i < 10; ++i)
    step(i, [&] {
      ranks_[0].compute(100);
      ranks_[0].call_back(900);
      synchronise();
    });
  ask();
  ASSERT_TRUE(time_);
  expect_whole();
  EXPECT_NEAR(lost_us(Cause::kHostWork), 900, 25);
  EXPECT_NEAR(lost_us(Cause::kSyncCalls), 0, 10);
}

TEST_F(StepTimes, OfAFunctionThatIsDoneInTimeAreNothing) {
  ranks(1);
  steps(10, [this] {
    ranks_[0].call_back(0);
    ranks_[0].compute(20);
  });
  EXPECT_EQ(lost_us(Cause::kHostWork), 0);
}

TEST_F(StepTimes, GainWhatABlockingCopyWaitedFor) {
  ranks(1);
  for (std::uint64_t i = 0; i < 10; ++i)
    step(i, [&] {
      ranks_[0].compute(20);
      ranks_[0].call_back(900);
      ranks_[0].compute(20);
      ranks_[0].copy(5);
      synchronise();
    });
  ask();
  ASSERT_TRUE(time_);
  EXPECT_NEAR(gain_us(Cause::kHostWork), 900, 25) << "the copy's call returns as soon as the GPU is there";
}

TEST_F(StepTimes, OfCopiesThatWaitForTheWorkBeforeThemAreTheirsHoweverShort) {
  ranks(1);
  for (std::uint64_t i = 0; i < 10; ++i)
    step(i, [&] {
      for (int kernel = 0; kernel < 8; ++kernel) {
        ranks_[0].compute(60);
        ranks_[0].copy(5);
      }
      synchronise();
    });
  ask();
  ASSERT_TRUE(time_);
  EXPECT_GT(lost_us(Cause::kPageableCopy), 45);
  EXPECT_GT(gain_us(Cause::kPageableCopy), 0.9 * lost_us(Cause::kPageableCopy)) << "its call comes back at once";
  EXPECT_LT(lost_us(Cause::kLaunchBound), 5);
}

TEST_F(StepTimes, OfASlowGpuArePricedByWhatTheOthersWait) {
  ranks(4);
  for (std::uint64_t i = 0; i < 10; ++i)
    step(i, [&] {
      for (SimulatedRank& one : ranks_)
        for (int kernel = 0; kernel < 40; ++kernel) one.compute(one.rank == 3 ? 30 : 20);
      all_reduce(30);
      synchronise();
    });
  ask();
  ASSERT_TRUE(time_);
  EXPECT_NEAR(lost_us(Cause::kSlowGpu, 3), 400, 5);
  EXPECT_NEAR(gain_us(Cause::kSlowGpu), 400, 5);
  expect_whole();
}

TEST_F(StepTimes, OfALaunchThatCannotKeepUpAreItsOwn) {
  ranks(1);
  for (std::uint64_t i = 0; i < 10; ++i)
    step(i, [&] {
      for (int kernel = 0; kernel < 100; ++kernel) {
        ranks_[0].host_us += 5;
        ranks_[0].compute(1);
      }
      synchronise();
    });
  ask();
  ASSERT_TRUE(time_);
  EXPECT_GT(lost_us(Cause::kLaunchBound), 550);
  EXPECT_EQ(lost_us(Cause::kHostWork), 0);
  expect_whole();
}

TEST_F(StepTimes, OfTransfersAreALateProgressThreadsWhereOneIsLaterThanAllOthers) {
  const auto delayed_us = [this](double last_poll_us) {
    ranks(3);
    ranks_[0].poll_us = 1;
    ranks_[1].poll_us = 2;
    ranks_[2].poll_us = last_poll_us;
    steps(10, [] {});
    return lost_us(Cause::kProxyDelay, 2);
  };
  EXPECT_NEAR(delayed_us(20), 30 * 0.9, 1) << "but for what the others' median leaves";
  EXPECT_NEAR(gain_us(Cause::kProxyDelay), 30 * 0.9, 1);
  EXPECT_EQ(delayed_us(1.5), 0) << "another one is later";
}

// Two by two ranks, in rows and in columns; all that 1 is in takes `slow_us`.
class TransferTimes : public StepTimes {
 protected:
  void run(double slow_us, double usual_us) {
    ranks(4);
    steps(10, [=, this] {
      for (SimulatedRank& one : ranks_) one.compute(200);
      all_reduce(kComm + 1, {0, 1}, slow_us);
      all_reduce(kComm + 2, {2, 3}, usual_us);
      all_reduce(kComm + 3, {0, 2}, usual_us);
      all_reduce(kComm + 4, {1, 3}, slow_us);
    });
  }
  // Two in each step, that last as `us_of` says of its number, behind 400 us of work each.
  template <typename Us>
  void reduce(std::uint64_t count, Us us_of) {
    for (std::uint64_t i = 0; i < count; ++i)
      step(i, [&] {
        for (int half = 0; half < 2; ++half) {
          for (SimulatedRank& one : ranks_)
            for (int kernel = 0; kernel < 20; ++kernel) one.compute(20);
          all_reduce(us_of(i));
        }
        synchronise();
      });
    ask();
    ASSERT_TRUE(time_);
    expect_whole();
  }
  const LostTime* slow() const {
    for (const LostTime& lost : time_->lost)
      if (lost.cause == Cause::kCommBandwidth) return &lost;
    return nullptr;
  }
};

TEST_F(TransferTimes, OfARankWithASlowLinkAreItsOwn) {
  run(110, 10);
  expect_whole();
  ASSERT_TRUE(slow());
  EXPECT_EQ(slow()->member, 1u);
  EXPECT_FALSE(slow()->of_all);
  EXPECT_EQ(slow()->site.function, "ncclAllReduce");
  EXPECT_EQ(slow()->site.transfer.bytes, 64u);
  EXPECT_NEAR(slow()->site.transfer.us, 110, 1);
  EXPECT_NEAR(slow()->site.transfer.bus_gb_s * 11, slow()->site.transfer.usual_bus_gb_s, 1e-3);
  EXPECT_NEAR(gain_us(Cause::kCommBandwidth), 200, 10);
  EXPECT_EQ(lost_us(Cause::kWaitsForRank), 0);
}

TEST_F(TransferTimes, AreNoFaultWhereAllAreAsQuick) {
  run(10, 10);
  EXPECT_FALSE(slow());
  run(12, 10);
  EXPECT_FALSE(slow()) << "not by a quarter";
}

TEST_F(TransferTimes, WithNothingToCompareAreToldWhereTheyAreLarge) {
  const auto share = [this](double transfer_us) {
    ranks(2);
    reduce(10, [transfer_us](std::uint64_t) { return transfer_us; });
    return slow() == nullptr ? 0 : slow()->ns / time_->length_ns;
  };
  EXPECT_NEAR(share(100), 0.2, 0.01);
  EXPECT_TRUE(slow()->of_all);
  EXPECT_EQ(slow()->site.transfer.usual_bus_gb_s, 0);
  EXPECT_NEAR(slow()->site.transfer.pcie_bus_gb_s, 64.0 / 19800, 1e-5) << "8.4 us, and 5.7 us for each of two steps";
  EXPECT_NEAR(gain_us(Cause::kCommBandwidth), 2 * (100 - 19.8), 3);
  EXPECT_EQ(share(10), 0);
}

// A link takes as long each time.
TEST_F(TransferTimes, AreNoSlowLinksWhereTheQuickestAreAsQuickAsOverPcie) {
  ranks(2);
  reduce(20, [](std::uint64_t number) { return number % 5 == 0 ? 15.0 : 400.0; });
  EXPECT_LT(gain_us(Cause::kCommBandwidth), 12) << "a quarter more than the quickest take";
  EXPECT_EQ(lost_us(Cause::kCpuContention), 0);
}

// 385 us each, of which 50 may be the way to a CPU, in four of five.
TEST_F(TransferTimes, OfProgressThreadsWithoutACpuAreTheirLackOfIt) {
  ranks(2);
  ranks_[1].progress_ready_us = 20000;
  reduce(20, [](std::uint64_t number) { return number % 5 == 0 ? 15.0 : 400.0; });
  EXPECT_NEAR(lost_us(Cause::kCpuContention, 1), 2 * 0.8 * 335, 10);
  EXPECT_NEAR(gain_us(Cause::kCpuContention), 2 * 0.8 * 335, 10);
  EXPECT_EQ(lost_us(Cause::kCpuContention, 0), 0);
  EXPECT_FALSE(slow());
}

TEST_F(TransferTimes, AreLateByAThreadNoLongerThanTheKernelCounted) {
  ranks(2);
  ranks_[1].progress_ready_us = 2000;
  reduce(20, [](std::uint64_t number) { return number % 5 == 0 ? 15.0 : 400.0; });
  EXPECT_NEAR(lost_us(Cause::kCpuContention, 1), 2000 / 20, 10);
}

TEST_F(TransferTimes, OfMessagesAreToldWhereTheyTakeMuchLongerThanOverPcie) {
  const auto share = [this](double transfer_us) {
    ranks(2);
    steps(10, [=, this] {
      for (SimulatedRank& one : ranks_) one.compute(600);
      message(ranks_[0], ranks_[1], transfer_us, true);
      message(ranks_[1], ranks_[0], transfer_us, true);
    });
    return slow() == nullptr ? 0 : slow()->ns / time_->length_ns;
  };
  EXPECT_GT(share(40), 0.03);
  EXPECT_EQ(slow()->site.function, "ncclRecv");
  EXPECT_NEAR(slow()->site.transfer.pcie_bus_gb_s, 64.0 / 14100, 1e-5) << "8.4 us and 5.7 us";
  EXPECT_NEAR(gain_us(Cause::kCommBandwidth), 2 * (37.5 - 14.1) + (30 - 19.8), 4)
      << "and the one that ends all steps: over the same link it takes 30 us, so a message takes no more";
  EXPECT_EQ(share(25), 0) << "not twice as long";
}

TEST_F(StepTimes, OfARankThatSomebodyStoppedAreItsStop) {
  ranks(3);
  steps(4, [this] {
    ranks_[1].compute(20);
    ranks_[1].halt(50000, 40000);
    ranks_[1].host_us += 50000;
  });
  EXPECT_NEAR(lost_us(Cause::kProcessStopped, 1), 49980, 5)
      << "of every rank: the others wait for it; its GPU worked on for 20";
  EXPECT_NEAR(lost_us(Cause::kProcessStopped), lost_us(Cause::kProcessStopped, 1), 1e-6);
  EXPECT_EQ(lost_us(Cause::kHostWork), 0);
  EXPECT_NEAR(gain_us(Cause::kProcessStopped), 50000, 50);
}

TEST_F(StepTimes, AreNoStopsWhereTheProcessWentOn) {
  ranks(2);
  steps(4, [this] {
    ranks_[1].halt(50000, 40000);
    for (int i = 0; i < 10; ++i) {
      ranks_[1].host_us += 4990;
      ranks_[1].allocate(10);
    }
  });
  EXPECT_EQ(lost_us(Cause::kProcessStopped), 0) << "its own thread was late, and nobody else";
  EXPECT_NEAR(lost_us(Cause::kHostWork, 1), 49900, 100);
}

TEST_F(StepTimes, AreNoStopsWhereADiskWasWaitedFor) {
  ranks(2);
  steps(4, [this] {
    SimulatedRank& one = ranks_[1];
    one.halt(50000, 40000);
    one.record({.hook = kAlloc, .begin_us = one.host_us, .end_us = one.host_us + 50000, .flags = kRecordFile});
    one.host_us += 50000;
  });
  EXPECT_EQ(lost_us(Cause::kProcessStopped), 0);
}

TEST_F(StepTimes, AreNoStopsByRowsThatMakeNoSense) {
  ranks(1);
  EventRow row{};
  row.kind = kEventHalted;
  row.ticks = test::at_us(100);
  row.number = test::at_us(200);
  row.amount = UINT64_MAX;
  ranks_[0].events = {row, row};
  row.number = 0;
  row.ticks = UINT64_MAX;
  ranks_[0].events.push_back(row);
  steps(4, [] {});
  EXPECT_EQ(lost_us(Cause::kProcessStopped), 0);
}

TEST_F(StepTimes, AreWholeWhateverTheRanksDo) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    ranks(static_cast<std::int32_t>(1 + random() % 4));
    if (ranks_.size() < 2) continue;
    for (std::uint64_t i = 0; i < 5; ++i)
      step(i, [&] {
        work(random);
        if (random() % 2 == 0) ranks_[random() % ranks_.size()].lose_cpu(random() % 200);
        if (random() % 2 != 0) return;
        SimulatedRank& one = ranks_[random() % ranks_.size()];
        const unsigned lasts_us = random() % 900;
        one.wait_on(lasts_us, random() % 20);
      });
    ask();
    ASSERT_TRUE(time_) << seed;
    expect_whole();
    for (const LostTime& lost : time_->lost) EXPECT_GE(lost.ns, 0) << seed;
    for (const auto& [cause, gain] : time_->gains) {
      EXPECT_GE(gain.ns, -1) << seed << ": leaving time out makes nothing longer";
      EXPECT_LE(gain.ns, time_->length_ns) << seed;
    }
  }
}

TEST_F(StepTimes, AreNotKnownWhereNobodySawTheGpu) {
  ranks(2);
  step(0, [&] {
    for (SimulatedRank& one : ranks_) one.compute(50);
    synchronise();
  });
  ranks_[1].device.kernels_without_time = 1;
  ask();
  EXPECT_FALSE(time_);
}

}  // namespace
}  // namespace hostprobe::analysis
