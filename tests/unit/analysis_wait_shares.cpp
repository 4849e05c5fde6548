// Shares of waits in their threads' lives: analysis/measures/wait_shares.cpp
#include <gtest/gtest.h>

#include "analysis/measures/thread_time.h"
#include "analysis/measures/wait_shares.h"

namespace hostprobe::analysis {
namespace {

// A main thread that synchronises for 40 of its 100 ms.
ProcessAnswer synchronising(double cpu_ms, double run_delay_ms) {
  ProcessAnswer process;
  process.wall_ms = 100;
  ThreadAnswer main;
  main.role = Role::kMain;
  main.blocked_ms = 40;
  ThreadTime measured;
  measured.wall_ms = 100;
  measured.cpu_ms = cpu_ms;
  measured.run_delay_ms = run_delay_ms;
  main.time = attribute_time(measured, {.ms = 40});
  process.threads.push_back(main);
  process.syncs.total_ms_by_role[Role::kMain] = 40;
  share_out_waits(process);
  return process;
}

TEST(WaitShares, ASynchroniseWaitsForTheGpuWhetherItSpinsOrSleeps) {
  EXPECT_DOUBLE_EQ(synchronising(100, 0).syncs.share_pct, 40);
  EXPECT_DOUBLE_EQ(synchronising(60, 0).syncs.share_pct, 40);
}

TEST(WaitShares, ASynchroniseWithoutACpuIsNoWaitForTheGpu) {
  EXPECT_NEAR(synchronising(60, 40).syncs.share_pct, 0, 1e-9);
  EXPECT_NEAR(synchronising(70, 30).syncs.share_pct, 10, 1e-9);
}

}  // namespace
}  // namespace hostprobe::analysis
