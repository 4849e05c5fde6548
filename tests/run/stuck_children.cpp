// stuck_children: a child that waits for a thread which stayed with its parent is named; one that somebody could wake is not.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

// Two looks are two seconds apart. The process is killed while it waits, and its child with it.
nlohmann::json report_of(const std::string& kind, long long& child) {
  const ScratchFolder scratch;
  const Victim victim{.program = "waits_for_children", .args = {kind}, .while_running = [](pid_t pid) {
                        std::this_thread::sleep_for(std::chrono::seconds(10));
                        kill(pid, SIGKILL);
                      }};
  const OneRun run = run_probed(victim, scratch);
  EXPECT_TRUE(run.outcome.ended_by(SIGKILL)) << run.outcome.describe();
  child = run.number("child");
  return report(scratch.run());
}

nlohmann::json finding_of(const nlohmann::json& report) {
  for (const nlohmann::json& finding : report["findings"])
    if (finding["evidence"].contains("child_pid")) return finding;
  return nullptr;
}

TEST(Children, ThatWaitForAThreadOfTheirParentsAreNamed) {
  long long child = 0;
  const nlohmann::json finding = finding_of(report_of("stuck", child));
  ASSERT_FALSE(finding.is_null());
  EXPECT_EQ(finding["cause"], "lock_contention");
  EXPECT_EQ(finding["evidence"]["child_pid"], child);
  EXPECT_NE(finding["evidence"]["child_in"].get<std::string>().find("libc.so"), std::string::npos)
      << finding["evidence"]["child_in"];
}

class OtherChildren : public testing::TestWithParam<const char*> {};
TEST_P(OtherChildren, AreNotSaidToWaitForEver) {
  long long child = 0;
  EXPECT_TRUE(finding_of(report_of(GetParam(), child)).is_null());
}
INSTANTIATE_TEST_SUITE_P(Children, OtherChildren, testing::Values("timed", "shared", "two"));

}  // namespace
}  // namespace hostprobe::test
