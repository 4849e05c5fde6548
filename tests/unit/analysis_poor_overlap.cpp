// Collectives beside which no work runs, although there was work: analysis/transfers/poor_overlap.h
#include "analysis/transfers/poor_overlap.h"

#include <gtest/gtest.h>

#include "step_times.h"

namespace hostprobe::analysis {
namespace {

class Overlap : public StepTimes {
 protected:
  void compute(double us) {
    for (SimulatedRank& one : ranks_) one.compute(us);
  }
  // On a stream of its own, from now on: work goes on behind what was before it.
  void move_beside(std::uint16_t hook, double us) {
    std::vector<double> tails_us;
    for (const SimulatedRank& one : ranks_) tails_us.push_back(one.tail_us);
    move_data(hook, us);
    for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].tail_us = tails_us[i];
  }
  template <typename Work>
  void run(Work work) {
    ranks(2);
    for (std::uint64_t i = 0; i < 20; ++i)
      step(i, [&] {
        work();
        synchronise();
      });
    ask();
    ASSERT_TRUE(time_);
    expect_whole();
  }
};

TEST_F(Overlap, IsPoorWhereReductionsFollowEachOtherBehindAllWork) {
  run([this] {
    for (int i = 0; i < 10; ++i) compute(80);
    for (int i = 0; i < 4; ++i) all_reduce(20);
    compute(40);
  });
  EXPECT_NEAR(lost_us(Cause::kPoorOverlap), 60, 2) << "all but one of them";
  EXPECT_NEAR(gain_us(Cause::kPoorOverlap), 60, 3);
  EXPECT_NEAR(lost_us(Cause::kTransfer), 20, 2);
}

TEST_F(Overlap, HidesNoMoreThanTheWorkBeforeHasTimeFor) {
  run([this] {
    compute(100);
    for (int i = 0; i < 4; ++i) all_reduce(60);
  });
  EXPECT_NEAR(lost_us(Cause::kPoorOverlap), 100, 4);
}

TEST_F(Overlap, IsOfTheLesserOnesWhereTheyDiffer) {
  run([this] {
    for (int i = 0; i < 10; ++i) compute(80);
    all_reduce(100);
    all_reduce(4);
  });
  EXPECT_EQ(lost_us(Cause::kPoorOverlap), 0) << "4 of more than 900 us";
}

TEST_F(Overlap, IsNotPoorWhereWorkFollowsEachOfThem) {
  run([this] {
    for (int i = 0; i < 8; ++i) {
      compute(80);
      all_reduce(20);
    }
  });
  EXPECT_EQ(lost_us(Cause::kPoorOverlap), 0) << "the work may need it, as of tensor parallel ranks";
}

TEST_F(Overlap, IsNotPoorWhereSomeRunBesideWork) {
  run([this] {
    for (int i = 0; i < 8; ++i) {
      compute(80);
      if (i == 4) move_beside(kAllReduce, 40);
    }
    for (int i = 0; i < 4; ++i) all_reduce(40);
  });
  EXPECT_EQ(lost_us(Cause::kPoorOverlap), 0) << "the rank does what it can";
}

// It looks at each result, as with loss.item().
TEST_F(Overlap, IsNotPoorWhereTheHostWaitsForEach) {
  run([this] {
    for (int i = 0; i < 10; ++i) compute(80);
    for (int i = 0; i < 4; ++i) {
      all_reduce(20);
      synchronise();
    }
  });
  EXPECT_EQ(lost_us(Cause::kPoorOverlap), 0);
}

TEST_F(Overlap, IsPoorWhereParametersAreGatheredBetweenTheWork) {
  run([this] {
    for (int i = 0; i < 4; ++i) {
      move_data(kAllGather, 20);
      compute(100);
    }
    for (int i = 0; i < 4; ++i) {
      move_data(kAllGather, 20);
      compute(200);
      move_data(kReduceScatter, 20);
    }
    compute(40);
  });
  EXPECT_NEAR(lost_us(Cause::kPoorOverlap), 7 * 20 + 3 * 20, 5) << "but the first to be gathered and the last reduced";
  EXPECT_NEAR(gain_us(Cause::kPoorOverlap), 200, 6);
}

// What each layer makes is gathered and reduced again.
TEST_F(Overlap, IsNotPoorWhereActivationsAreGathered) {
  run([this] {
    for (int i = 0; i < 6; ++i) {
      move_data(kAllGather, 20);
      compute(100);
      move_data(kReduceScatter, 20);
      compute(20);
    }
  });
  EXPECT_EQ(lost_us(Cause::kPoorOverlap), 0);
}

}  // namespace
}  // namespace hostprobe::analysis
