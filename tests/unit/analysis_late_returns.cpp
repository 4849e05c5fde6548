// Whose a late return from a call is: analysis/step_time/late_returns.cpp
#include "analysis/step_time/late_returns.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

// Steps of 1000 ns on two ranks.
class LateReturnsOfSteps : public testing::Test {
 protected:
  LateReturnsOfSteps() : parts_(2) {}
  void add(std::uint32_t member, double ns, Cause cause, Cause returns_from = Cause::kGpuBound) {
    LostPart part{{0, ns}, ns, cause, member, {}};
    part.returns_from = returns_from;
    parts_[member].push_back(part);
  }
  ReturnOwners owners() const {
    LateReturns returns;
    returns.add_step(1000, parts_);
    return returns.owners();
  }
  std::vector<std::vector<LostPart>> parts_;
};

TEST_F(LateReturnsOfSteps, BelongToTheCallsWithoutWhichMoreWouldBeGone) {
  add(0, 200, Cause::kAllocStall);
  add(0, 100, Cause::kCpuContention, Cause::kAllocStall);
  add(0, 50, Cause::kCpuContention);
  EXPECT_EQ(owners(), (ReturnOwners{{0, Cause::kAllocStall}}));
}

TEST_F(LateReturnsOfSteps, BelongToTheLackOfACpuWhereThatTakesMoreBesides) {
  add(0, 200, Cause::kAllocStall);
  add(0, 100, Cause::kCpuContention, Cause::kAllocStall);
  add(0, 250, Cause::kCpuContention);
  EXPECT_EQ(owners(), ReturnOwners{});
}

TEST_F(LateReturnsOfSteps, BelongToNoCauseThatIsNoLossWithoutThem) {
  add(0, 10, Cause::kSyncCalls);
  add(0, 200, Cause::kCpuContention, Cause::kSyncCalls);
  EXPECT_EQ(owners(), ReturnOwners{});
}

// Without the heaviest, 50 of the lack of a CPU are left, and the next one takes more than that.
TEST_F(LateReturnsOfSteps, GoToTheHeaviestFirst) {
  add(0, 250, Cause::kAllocStall);
  add(0, 150, Cause::kCpuContention, Cause::kAllocStall);
  add(0, 120, Cause::kLockContention);
  add(0, 50, Cause::kCpuThrottle, Cause::kLockContention);
  EXPECT_EQ(owners(), (ReturnOwners{{0, Cause::kAllocStall}, {0, Cause::kLockContention}}));
}

// Three of a hundred on each rank, of which six are lost by the job.
TEST_F(LateReturnsOfSteps, BelongToACauseThatIsALossOfAllRanksTogether) {
  for (const std::uint32_t member : {0u, 1u})
    for (int i = 0; i < 2; ++i) {
      add(member, 30, Cause::kSyncCalls);
      add(member, 50, Cause::kCpuContention, Cause::kSyncCalls);
    }
  EXPECT_EQ(owners(), (ReturnOwners{{0, Cause::kSyncCalls}, {1, Cause::kSyncCalls}}));
}

// It comes back from its GPU once in a step in any case; nobody has to take a lock that another thread holds.
TEST_F(LateReturnsOfSteps, FromOneWaitForTheGpuInAStepAreOfTheLackOfACpu) {
  add(0, 150, Cause::kSyncCalls);
  add(0, 100, Cause::kCpuContention, Cause::kSyncCalls);
  EXPECT_EQ(owners(), ReturnOwners{});
  add(1, 150, Cause::kLockContention);
  add(1, 100, Cause::kCpuContention, Cause::kLockContention);
  EXPECT_EQ(owners(), (ReturnOwners{{1, Cause::kLockContention}}));
}

TEST_F(LateReturnsOfSteps, BelongToACauseOfManyCallsFromHalfTheLeastLossOn) {
  for (int i = 0; i < 4; ++i) {
    add(0, 12, Cause::kSyncCalls);
    add(0, 50, Cause::kCpuContention, Cause::kSyncCalls);
  }
  EXPECT_EQ(owners(), (ReturnOwners{{0, Cause::kSyncCalls}}));
  parts_[0].resize(6);
  add(0, 12, Cause::kSyncCalls);
  EXPECT_EQ(owners(), ReturnOwners{}) << "three calls in a step";
}

// What another rank waits for it counts where it was lost.
TEST_F(LateReturnsOfSteps, AreToldRankByRank) {
  add(0, 100, Cause::kLockContention);
  parts_[1].push_back(parts_[0].front());
  add(0, 60, Cause::kCpuContention, Cause::kLockContention);
  add(1, 100, Cause::kLockContention);
  add(1, 150, Cause::kCpuContention);
  add(1, 60, Cause::kCpuContention, Cause::kLockContention);
  EXPECT_EQ(owners(), (ReturnOwners{{0, Cause::kLockContention}}));
}

TEST_F(LateReturnsOfSteps, OfAWaitForAnotherRankAreOfTheLackOfACpu) {
  add(0, 400, Cause::kWaitsForRank);
  add(0, 100, Cause::kCpuContention, Cause::kWaitsForRank);
  EXPECT_EQ(owners(), ReturnOwners{});
}

}  // namespace
}  // namespace hostprobe::analysis
