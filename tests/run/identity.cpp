// identity: programs that give up root, in every order and place, in a run folder that is closed to whom they become. They
// end as they would without us, their traces are complete, and none of their segments stays.
#include <gtest/gtest.h>
#include <unistd.h>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

class ChangedIdentity : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { have_our_own_segments(); }
};

TEST_P(ChangedIdentity, HarmsNeitherTheProgramNorItsTrace) {
  const Pair pair({.program = "changes_identity", .args = {GetParam()}, .probe = {{"HOSTPROBE_MODE", "trace"}}});
  if (pair.bare.outcome.exited_with(77)) GTEST_SKIP() << "only root may change its identity";
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  const bool has_children = std::string(GetParam()) == "children_afterwards";
  expect_same(pair, has_children ? 2 : 0);
  const Dump calls = dump(pair.run());
  EXPECT_GE(calls.of("sem_timedwait").size() + calls.lost, 10u);
  EXPECT_EQ(calls.lost, 0u);
  const auto answers = report(pair.run());
  for (const auto& process : answers.at("processes")) EXPECT_EQ(process.at("end").at("how"), "exited") << process;
  EXPECT_TRUE(orphaned_segments({pair.probed.outcome.pid}).empty());
}
INSTANTIATE_TEST_SUITE_P(Identity, ChangedIdentity,
                         testing::Values("keeping_capabilities", "to_and_fro", "for_good", "with_threads",
                                         "threads_at_once", "in_child", "in_vfork_child", "children_afterwards",
                                         "in_handler", "in_constructor", "by_system_call", "in_another_root",
                                         "after_main_has_left"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace hostprobe::test
