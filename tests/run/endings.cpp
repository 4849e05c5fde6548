// endings: what a trace knows of how its process ended, by itself and by the parent that collected it, and who it was.
#include <gtest/gtest.h>

#include <map>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

class CollectedChildren : public testing::TestWithParam<const char*> {};

TEST_P(CollectedChildren, EndAsTheirParentSaw) {
  const Pair pair({.program = "collects_children", .probe = {{"HOSTPROBE_MODE", GetParam()}}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  std::map<long long, std::string> names;
  for (const auto& line : pair.probed.truth()) names[std::stoll(line.at(2))] = line.at(1);
  std::size_t seen = 0;
  const auto answers = report(pair.run());
  for (const auto& process : answers.at("processes")) {
    const std::string name = names[process.at("pid")];
    const auto& end = process.at("end");
    if (name == "killed") {
      EXPECT_EQ(end.at("how"), "killed");
      EXPECT_EQ(end.at("signal"), "SIGKILL");
    } else if (name == "left") {
      EXPECT_EQ(end.at("how"), "exited");
      EXPECT_EQ(end.at("status"), 3);
    } else {
      EXPECT_EQ(end.at("how"), "exited");
      EXPECT_TRUE(end.at("signal").is_null());
    }
    seen += name.empty() ? 0 : 1;
  }
  EXPECT_EQ(seen, 3u);
}
INSTANTIATE_TEST_SUITE_P(Endings, CollectedChildren, testing::Values("trace", "flight", "monitor"),
                         [](const auto& each) { return std::string(each.param); });

class BareEnd : public testing::TestWithParam<const char*> {};

// What goes through libc's syscall() is seen; of an instruction only whoever collects the process learns how it ended.
TEST_P(BareEnd, IsNotSaidToBeAKill) {
  const std::string way = GetParam();
  for (const char* mode : {"trace", "flight", "monitor"}) {
    const Pair pair({.program = "ends_bare", .args = {way}, .probe = {{"HOSTPROBE_MODE", mode}}});
    EXPECT_TRUE(pair.bare.outcome.exited_with(3)) << pair.bare.outcome.describe();
    expect_same(pair);
    const auto answers = report(pair.run());
    EXPECT_EQ(blocked_count(answers, "sem_timedwait"), way == "threads_inline" ? 7u : 3u);
    EXPECT_EQ(lost_count(answers), 0u);
    ASSERT_EQ(answers.at("processes").size(), 1u);
    EXPECT_EQ(answers.at("processes")[0].at("end").at("how"), way == "exit_group_inline" ? "recovered" : "exited");
  }
}
INSTANTIATE_TEST_SUITE_P(Endings, BareEnd,
                         testing::Values("exit", "exit_group", "exit_group_inline", "exit_inline", "threads_inline"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Endings, ByAnInstructionAreExitsWhereTheRunSawThem) {
  ScratchFolder scratch;
  const Outcome outcome = run(
      {.command = {probe_command(), "run", "-o", scratch.run(), "--", program_path("ends_bare"), "exit_group_inline"}});
  EXPECT_TRUE(outcome.exited_with(3)) << outcome.describe();
  const auto answers = report(scratch.run());
  ASSERT_EQ(answers.at("processes").size(), 1u);
  const auto& end = answers.at("processes")[0].at("end");
  EXPECT_EQ(end.at("how"), "exited");
  EXPECT_EQ(end.at("status"), 3);
}

TEST(Endings, LaunchersThatNameTheNodeAndTheRestartAreUnderstood) {
  const auto first_process = [](const Environment& environment) {
    const Pair pair({.program = "works", .environment = environment, .probe = {{"HOSTPROBE_TARGET", "all"}}});
    return report(pair.run()).at("processes").at(0);
  };
  const auto lightning = first_process({{"LOCAL_RANK", "1"}, {"WORLD_SIZE", "2"}, {"NODE_RANK", "0"}});
  EXPECT_EQ(lightning.at("rank"), 1);
  EXPECT_FALSE(lightning.contains("restart"));
  const auto second_node =
      first_process({{"LOCAL_RANK", "1"}, {"WORLD_SIZE", "8"}, {"NODE_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}});
  EXPECT_EQ(second_node.at("rank"), 5);
  EXPECT_TRUE(first_process({{"LOCAL_RANK", "1"}}).at("rank").is_null()) << "no word of a world";
  const auto elastic = first_process({{"RANK", "3"}, {"TORCHELASTIC_RESTART_COUNT", "2"}});
  EXPECT_EQ(elastic.at("rank"), 3);
  EXPECT_EQ(elastic.at("restart"), 2);
}

TEST(Endings, PartsOfEveryThreadsTimeSumToItsWallTime) {
  const Pair pair({.program = "waits_ping_pong"});
  const auto answers = report(pair.run());
  for (const auto& process : answers.at("processes")) {
    for (const auto& thread : process.at("threads")) {
      if (thread.at("wall_ms").is_null()) continue;
      double sum = 0;
      for (const char* key : {"cpu_ms", "preempted_ms", "run_queue_ms", "wait_ms", "unexplained_ms"})
        sum += thread.at(key).is_null() ? 0 : thread.at(key).get<double>();
      EXPECT_NEAR(sum, thread.at("wall_ms").get<double>(), 0.01 * thread.at("wall_ms").get<double>()) << thread;
    }
  }
}

}  // namespace
}  // namespace hostprobe::test
