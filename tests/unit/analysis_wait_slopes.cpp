// Whether a thread works at its own pace or reacts to who waits for it: analysis/graph/wait_slopes.h
#include <gtest/gtest.h>

#include <random>

#include "analysis/graph/wait_slopes.h"

namespace hostprobe::analysis {
namespace {

constexpr std::int32_t kWaiter = 0, kWaker = 1;

HostCall wait(double begin_ns, double post_ns, std::int32_t waker) {
  HostCall call;
  call.type = HostCallType::kWait;
  call.begin_ns = begin_ns;
  call.post_ns = call.end_ns = post_ns;
  call.waker = waker;
  return call;
}

// The waiter works for about 5 ms, and then waits for the other one.
struct MadeWaits {
  PathGraph graph;
  std::mt19937 random{7};
  double last_ns = 1e6;  // the last post

  MadeWaits() { graph.host.threads.resize(2); }
  double about(double ns, double spread_ns) { return std::normal_distribution<double>(ns, spread_ns)(random); }
  void add(double begin_ns, double post_ns) {
    graph.host.threads[kWaiter].calls.push_back(wait(begin_ns, post_ns, kWaker));
    last_ns = post_ns;
  }
  double slope() const { return WaitSlopes(graph).of(kWaiter, kWaker); }
};

TEST(WaitSlopesOf, AThreadAtItsOwnPaceAreNearZero) {
  MadeWaits made;
  for (int i = 0; i < 60; ++i) {
    const double next_ns = made.last_ns + made.about(10e6, 50e3), came_ns = made.last_ns + made.about(5e6, 300e3);
    made.add(came_ns, next_ns);
  }
  EXPECT_LT(made.slope(), 0.15);
}

// Of what was there already, nobody waits for the post.
TEST(WaitSlopesOf, AThreadAtItsOwnPaceAreNearZeroAlsoWhereSomePostsAreNotWaitedFor) {
  MadeWaits made;
  for (int i = 0; i < 60; ++i) {
    const double others_ns = i % 3 == 0 ? 20e6 : i % 5 == 0 ? 10e6 : 0;
    const double next_ns = made.last_ns + others_ns + made.about(10e6, 50e3);
    made.add(made.last_ns + others_ns + made.about(5e6, 300e3), next_ns);
  }
  EXPECT_LT(made.slope(), 0.25);
}

TEST(WaitSlopesOf, AThreadThatReactsAreNearOne) {
  MadeWaits made;
  for (int i = 0; i < 60; ++i) {
    const double came_ns = made.last_ns + made.about(5e6, 300e3);
    made.add(came_ns, came_ns + made.about(4e6, 50e3));
  }
  EXPECT_GT(made.slope(), 0.85);
}

TEST(WaitSlopesOf, OneThatCannotBeToldReacts) {
  MadeWaits few, even;
  for (int i = 0; i < 4; ++i) few.add(few.last_ns + few.about(5e6, 300e3), few.last_ns + 10e6);
  for (int i = 0; i < 60; ++i) even.add(even.last_ns + 5e6, even.last_ns + 10e6);
  EXPECT_EQ(few.slope(), 1);
  EXPECT_EQ(even.slope(), 1);
}

TEST(WaitSlopesOf, OneWhoseOwnWaitsAreKnownFollowsThem) {
  MadeWaits made;
  for (int i = 0; i < 60; ++i) {
    const double came_ns = made.last_ns + made.about(5e6, 300e3);
    made.graph.host.threads[kWaker].calls.push_back(wait(came_ns - 1e6, came_ns + 1e3, kWaiter));
    made.add(came_ns, came_ns + 4e6);
  }
  EXPECT_EQ(made.slope(), 0);
}

TEST(WaitSlopesOf, OneThatNeverPostedIsZero) { EXPECT_EQ(MadeWaits().slope(), 0); }

}  // namespace
}  // namespace hostprobe::analysis
