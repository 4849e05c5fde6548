// Where the time of the steps went, by what samples of the threads say: analysis/step_time/own_code.cpp, blocked_code.cpp, without_cpu.cpp
#include "analysis/step_time/own_code.h"

#include <gtest/gtest.h>

#include "analysis/step_time/blocked_code.h"
#include "analysis/step_time/call_numbers.h"
#include "step_times.h"

namespace hostprobe::analysis {
namespace {

// Half a millisecond of its own before it launches, with so many samples of each kind in the middle of it, a step.
class SampledStepTimes : public StepTimes {
 protected:
  void run(int interpreter, int library, int libc, int python) {
    ranks(2);
    steps(20, [=, this] {
      SimulatedRank& one = ranks_[0];
      const auto put = [&one](int count, std::uint64_t address) {
        for (int i = 0; i < count; ++i) one.sample(200 + 10 * i, address);
      };
      put(interpreter, kInterpreter + 8);
      put(library, kLibrary + 8);
      put(libc, kSharedByAll + 8);
      put(python, 0);
      one.host_us += 500;
    });
  }
  const LostSite* site_of(Cause cause) const {
    for (const LostTime& lost : time_->lost)
      if (lost.cause == cause && lost.member == 0) return &lost.site;
    return nullptr;
  }
};

TEST_F(SampledStepTimes, AreDividedBetweenTheInterpreterAndOtherCode) {
  run(3, 1, 4, 0);
  EXPECT_NEAR(lost_us(Cause::kPythonOverhead, 0), 375, 10) << "libc's functions count for neither";
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 125, 10);
  const LostSite* site = site_of(Cause::kHostWork);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->library, "libcrunch.so");
  EXPECT_EQ(site->samples, 20u);
  EXPECT_EQ(site->sampled_pct, 100);
  EXPECT_GT(site->low_pct, 80);
}

// A plan is built for each shape that a step brings anew.
TEST_F(SampledStepTimes, OfACompilerAreTheBuildingOfCode) {
  ranks(2);
  steps(20, [this] {
    for (int i = 0; i < 3; ++i) ranks_[0].sample(200 + 10 * i, kCompiler + 8);
    ranks_[0].sample(300, kLibrary + 8);
    ranks_[0].host_us += 500;
  });
  EXPECT_NEAR(lost_us(Cause::kJitCompile, 0), 375, 10);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 125, 10);
  const LostSite* site = site_of(Cause::kJitCompile);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->library, "libnvrtc.so.13");
}

TEST_F(SampledStepTimes, NameThePythonFunction) {
  run(2, 0, 0, 2);
  EXPECT_NEAR(lost_us(Cause::kPythonOverhead, 0), 500, 10);
  const LostSite* site = site_of(Cause::kPythonOverhead);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->function, "augment");
  EXPECT_EQ(site->library, "python3.11");
  EXPECT_EQ(site->stack, (std::vector<std::string>{"augment (train.py:30)", "train (train.py:90)"}));
  EXPECT_EQ(site->samples, 40u);
}

TEST_F(SampledStepTimes, AreThePythonFunctionsWhereNoCodeIsKnown) {
  run(0, 0, 0, 1);
  EXPECT_NEAR(lost_us(Cause::kPythonOverhead, 0), 500, 10);
  EXPECT_EQ(lost_us(Cause::kHostWork, 0), 0);
}

TEST_F(SampledStepTimes, AreAsWithoutWhereSamplesAreTooFew) {
  ranks(2);
  int made = 0;
  steps(20, [&, this] {
    if (++made < static_cast<int>(kFewestSamples)) ranks_[0].sample(200, kLibrary + 8);
    ranks_[0].host_us += 500;
  });
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 500, 10) << "a process without Python";
  const LostSite* site = site_of(Cause::kHostWork);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->library, "");
  EXPECT_EQ(site->samples, 0u);
}

// Of each 40 ms of CPU time, 30 in the kernel; half a millisecond of the thread's own in each step.
class FaultStepTimes : public SampledStepTimes {
 protected:
  void run(std::uint32_t faults) {
    ranks(2);
    steps(20, [=, this] {
      ranks_[0].sample_faults(200, kLibrary + 8, 30000, 40000, faults);
      ranks_[0].host_us += 500;
    });
  }
};

TEST_F(FaultStepTimes, AreTheTimeInTheKernelWhereItIsShortForEachPage) {
  run(60000);
  EXPECT_NEAR(lost_us(Cause::kPageFaults, 0), 375, 10);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 125, 10);
  EXPECT_NEAR(gain_us(Cause::kPageFaults), 375, 10);
  const LostSite* site = site_of(Cause::kPageFaults);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->library, "libcrunch.so");
  EXPECT_EQ(site->samples, 20u);
}

// Four times as long it looks whether the GPU is done.
TEST_F(FaultStepTimes, AreOfItsOwnTimeHoweverLongItPollsInCalls) {
  ranks(2);
  steps(20, [this] {
    ranks_[0].sample_faults(200, kLibrary + 8, 30000, 200000, 60000, 0, 160000);
    ranks_[0].host_us += 500;
  });
  EXPECT_NEAR(lost_us(Cause::kPageFaults, 0), 375, 10);
}

TEST_F(FaultStepTimes, AreAsLongAsPagesTakeAtLeastWhereTheKernelDidMore) {
  run(2000);  // 15 us each
  EXPECT_NEAR(lost_us(Cause::kPageFaults, 0), 6.25, 1);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 493.75, 10);
}

// Where a sample of its code comes back from the kernel says less: that is where the kernel was left.
TEST_F(FaultStepTimes, AreWhereThePagesAreTouchedAsFarAsTheKernelTells) {
  ranks(2);
  steps(20, [this] {
    ranks_[0].sample_faults(200, 0x5000, 30000, 40000, 60000);
    ranks_[0].sample_fault_place(210, kLibrary + 8);
    ranks_[0].host_us += 500;
  });
  EXPECT_NEAR(lost_us(Cause::kPageFaults, 0), 375, 10);
  const LostSite* site = site_of(Cause::kPageFaults);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->library, "libcrunch.so");
  EXPECT_EQ(site->samples, 20u);
}

TEST_F(FaultStepTimes, AreNoneWithoutPages) {
  run(0);
  EXPECT_EQ(lost_us(Cause::kPageFaults, 0), 0);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 500, 10);
}

// It switches too often for records of that: what the kernel counts says for how long it was on no CPU, and that the disk was asked.
TEST_F(FaultStepTimes, AreTheTimeOnNoCpuWhereTheDiskWasAskedAndNoSwitchIsRecorded) {
  const auto run_with = [this](std::uint32_t of_disk) {
    ranks(2);
    steps(20, [=, this] {
      ranks_[0].sample_faults(200, kLibrary + 8, 50, 100, 25, of_disk);
      ranks_[0].host_us += 500;
    });
  };
  run_with(25);
  EXPECT_NEAR(lost_us(Cause::kPageFaults, 0), 400, 40);
  const LostSite* site = site_of(Cause::kPageFaults);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->function, kPageFault) << "of a file";
  run_with(0);
  EXPECT_EQ(lost_us(Cause::kPageFaults, 0), 0);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 500, 10);
}

TEST_F(SampledStepTimes, NameAPlaceThatFewSamplesAgreeOn) {
  const auto named = [this](std::uint64_t samples) {
    ranks(2);
    std::uint64_t made = 0;
    steps(20, [&, this] {
      ranks_[0].sample(200, kInterpreter + 8);
      if (++made <= samples) ranks_[0].sample(210, 0);
      ranks_[0].host_us += 500;
    });
    const LostSite* site = site_of(Cause::kPythonOverhead);
    return site == nullptr ? "" : site->function;
  };
  EXPECT_EQ(named(kFewestOfPlace), "augment");
  EXPECT_EQ(named(kFewestOfPlace - 1), "");
  EXPECT_LT(share_of_samples(1, kFewestOfPlace).low, kNamedShare) << "a stray one names nothing";
}

// Half a millisecond before it launches, 400 us of it blocked in no call, and so often found there.
class BlockedStepTimes : public SampledStepTimes {
 protected:
  void run(int call, int samples) {
    ranks(2);
    int made = 0;
    steps(20, [&, this] {
      SimulatedRank& one = ranks_[0];
      if (++made <= samples) one.sample_blocked(100, call);
      one.block(400);
      one.host_us += 100;
    });
  }
};

TEST_F(BlockedStepTimes, ArePageFaultsWhereAPageWasNotThere) {
  run(-1, 20);
  EXPECT_NEAR(lost_us(Cause::kPageFaults, 0), 400, 10);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 100, 10);
  EXPECT_NEAR(gain_us(Cause::kPageFaults), 400, 10);
  const LostSite* site = site_of(Cause::kPageFaults);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->function, kPageFault);
  EXPECT_EQ(site->library, "libc.so.6");
  EXPECT_EQ(site->stack.front(), "augment (train.py:30)");
  EXPECT_EQ(site->samples, 20u);
}

// Numbers are those of the machine that was recorded: newfstatat, wait4, write and futex of x86-64.
TEST_F(BlockedStepTimes, AreByTheSystemCall) {
  run(262, 20);
  EXPECT_NEAR(lost_us(Cause::kFileIo, 0), 400, 10);
  run(61, 20);
  EXPECT_NEAR(lost_us(Cause::kUnexplained, 0), 400, 10) << "a child process";
  run(1, 20);
  EXPECT_NEAR(lost_us(Cause::kUnexplained, 0), 400, 10) << "a pipe that nobody reads, perhaps";
  run(202, 20);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 500, 10) << "other threads of the program's work, perhaps";
  run(UINT16_MAX - 1, 20);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 500, 10) << "no such call is known";
}

TEST(CallNumbers, AreThoseOfTheMachineThatWasRecorded) {
  EXPECT_TRUE(is_one_of(kFileCalls, 79, kAarch64)) << "newfstatat";
  EXPECT_FALSE(is_one_of(kFileCalls, 79, kX86_64)) << "getcwd";
  EXPECT_FALSE(is_one_of(kFileCalls, -1, kAarch64)) << "no call: a page that was not there";
  EXPECT_EQ(kind_of_call(260, kAarch64), CallKind::kChild);
  EXPECT_EQ(kind_of_call(64, kAarch64), CallKind::kWrite);
  EXPECT_EQ(kind_of_call(1, kAarch64), CallKind::kOther);
}

// A quick disk: no sample finds it blocked. Of the rest of its own time the kernel took three quarters. The first of 20 counts began before
// the steps.
TEST_F(BlockedStepTimes, ArePageFaultsWhereTheKernelAskedTheDiskAsOften) {
  const auto run_with = [this](std::uint32_t of_disk) {
    ranks(2);
    steps(20, [=, this] {
      ranks_[0].sample_faults(450, kLibrary + 8, 30000, 40000, of_disk, of_disk);
      for (int i = 0; i < 4; ++i) ranks_[0].block(100);
      ranks_[0].host_us += 100;
    });
  };
  run_with(4);
  EXPECT_NEAR(lost_us(Cause::kPageFaults, 0), 380, 10) << "30 ms in the kernel are too many for 4 pages";
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 120, 10);
  run_with(2);
  EXPECT_NEAR(lost_us(Cause::kPageFaults, 0), 200, 10) << "as many spans as pages";
  run_with(1000);
  EXPECT_NEAR(lost_us(Cause::kPageFaults, 0), 475, 10);
}

// Five milliseconds of its own, in which it switches too often for records of that.
class SuppliedStepTimes : public SampledStepTimes {
 protected:
  void run(std::uint32_t cpu_us, std::uint32_t delay_us, std::uint32_t runs) {
    ranks(2);
    steps(20, [=, this] {
      SimulatedRank& one = ranks_[0];
      one.cpus = cpus_;
      one.sample_supply(5000, cpu_us, delay_us, runs);
      one.sample_blocked(100, 262);  // newfstatat
      one.host_us += 5000;
      one.ready_us += delay_us;
    });
  }

  std::uint64_t cpus_ = 0;
};

TEST_F(SuppliedStepTimes, AreBlockedForWhatIsNeitherOnACpuNorReady) {
  run(1000, 0, 100);
  EXPECT_NEAR(lost_us(Cause::kFileIo, 0), 4000, 50);
  EXPECT_EQ(lost_us(Cause::kCpuContention, 0), 0);
}

TEST_F(SuppliedStepTimes, LackACpuForWhatTheyWereReadyMeanwhile) {
  run(1000, 3000, 2);
  EXPECT_NEAR(lost_us(Cause::kCpuContention, 0), 2900, 50);
  EXPECT_NEAR(lost_us(Cause::kFileIo, 0), 1100, 50) << "with the ways back of two waits";
}

TEST_F(SuppliedStepTimes, LackNoCpuWhereEachWaitHasItsUsualWayBack) {
  run(1000, 3000, 100);
  EXPECT_LT(lost_us(Cause::kCpuContention, 0), 1) << "but for the time between rows";
  EXPECT_NEAR(lost_us(Cause::kFileIo, 0), 4000, 50);
}

// A CPU that the process itself keeps busy is one that its threads wait for.
TEST_F(SuppliedStepTimes, LackACpuForAllButTheWaysBackToOneThatWasIdle) {
  cpus_ = 1;
  run(1400, 3500, 20);
  EXPECT_NEAR(lost_us(Cause::kCpuContention, 0), 3500 - 20 * 36, 10) << "it was idle for 72 % of the time";
  cpus_ = 4;
  run(1400, 3500, 20);
  EXPECT_NEAR(lost_us(Cause::kCpuContention, 0), 3500 - 20 * 46.5, 10);
}

TEST_F(SuppliedStepTimes, AreWholeWhateverTheRowsSay) {
  run(UINT32_MAX, UINT32_MAX, UINT32_MAX);
  run(0, 0, 0);
  EXPECT_NEAR(lost_us(Cause::kFileIo, 0), 5000, 50);
}

TEST_F(BlockedStepTimes, AreAsWithoutWhereSamplesAreTooFew) {
  run(-1, static_cast<int>(kFewestOfPlace) - 1);
  EXPECT_EQ(lost_us(Cause::kFileIo, 0), 0);
  EXPECT_NEAR(lost_us(Cause::kHostWork, 0), 500, 10);
}

}  // namespace
}  // namespace hostprobe::analysis
