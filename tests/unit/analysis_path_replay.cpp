// A job that runs once more without some of its time: analysis/graph/path_replay.cpp
#include "analysis/graph/path_replay.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

// A thread launches once and waits for that: what the call takes, what the GPU needs to begin, its work, and the return.
class PathReplayOfOneLaunch : public testing::Test {
 protected:
  PathReplayOfOneLaunch() {
    PathGraph& graph = job_.parts.emplace_back();
    HostThread& thread = graph.host.threads.emplace_back();
    thread.calls = {{.begin_ns = 100, .end_ns = 1'100, .type = HostCallType::kLaunch},
                    {.begin_ns = 1'110, .end_ns = 1'520, .type = HostCallType::kSynchronise}};
    ActivityNode& node = graph.nodes.emplace_back();
    node.begin_ns = 1'200, node.end_ns = 1'500;
    node.launch = {0, 0}, node.lag_ns = 1'100;
    graph.sync_activities = {{kNoActivity, 0}};
    graph.main = 0;
  }
  // Until the thread has waited.
  double length_ns(const ReplayCuts& cuts) const {
    PathReplay replay(job_);
    replay.enter(50, PathEnds{{.at_ns = 1'520}});
    PathReplay::Factors factors;
    factors.fill(1);
    return replay.run(factors, cuts);
  }
  static ReplayCuts without(double begin_ns, double end_ns) {
    ReplayCuts cuts;
    cuts.add(0, 0, {begin_ns, end_ns}, end_ns - begin_ns);
    cuts.sort();
    return cuts;
  }

  JobGraph job_;
};

TEST_F(PathReplayOfOneLaunch, LastsAsLongAsItDid) { EXPECT_DOUBLE_EQ(length_ns({}), 1'470); }

TEST_F(PathReplayOfOneLaunch, IsShorterByWhatItsThreadStoodStillBeforeTheCall) {
  EXPECT_DOUBLE_EQ(length_ns(without(60, 80)), 1'450);
}

TEST_F(PathReplayOfOneLaunch, IsShorterByWhatItsThreadStoodStillInTheCall) {
  EXPECT_DOUBLE_EQ(length_ns(without(200, 900)), 770);
}

TEST_F(PathReplayOfOneLaunch, IsNoShorterForWhatItsThreadDoesWhileTheGpuWorks) {
  EXPECT_DOUBLE_EQ(length_ns(without(1'150, 1'500)), 1'470);
}

}  // namespace
}  // namespace hostprobe::analysis
