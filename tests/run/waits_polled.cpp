// waits_polled: programs under `spin` and `timer_slack`, whose waits must do what they do without: results, errno, cancellation.
#include <gtest/gtest.h>

#include "run_probed.h"

namespace hostprobe::test {
namespace {

class WaitsUnderFixes : public testing::TestWithParam<const char*> {};

TEST_P(WaitsUnderFixes, AreAsWithout) {
  const Pair pair(
      {.program = GetParam(), .probe = {{"HOSTPROBE_FIX", "spin,timer_slack"}, {"HOSTPROBE_SPIN_US", "1000"}}});
  expect_same(pair);
}
INSTANTIATE_TEST_SUITE_P(PlaceFixes, WaitsUnderFixes,
                         testing::Values("waits_blocked", "waits_at_once", "waits_results", "waits_interrupted",
                                         "waits_ping_pong", "waits_odd_arguments", "waits_bad_arguments",
                                         "waits_everywhere", "waits_between_processes", "threads_cancelled",
                                         "threads_pthread_exit", "signals_handler_waits", "signals_jump_out", "forks",
                                         "vforks_in_vforks"));

TEST(PlaceFixes, AllAtOnceChangeNothingInAProgramWithoutAGpu) {
  const Pair pair({.program = "threads_many", .probe = {{"HOSTPROBE_FIX", "pin,spin,timer_slack,nice,numa"}}});
  expect_same(pair);
}

}  // namespace
}  // namespace hostprobe::test
