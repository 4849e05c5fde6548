// run_control: `hostprobe ctl` and all the processes of a run; what a person asks for counts, or is refused with the reason.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "answers.h"
#include "run_probed.h"
#include "staying.h"

namespace hostprobe::test {
namespace {

using Json = nlohmann::json;

bool anything(const Json&) { return true; }
bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

Outcome ctl_run(const ScratchFolder& scratch, std::vector<std::string> words) {
  words.insert(words.begin(), {probe_command(), "ctl", scratch.run().string()});
  return run({.command = std::move(words)});
}

// Two ranks that record into one run folder.
void with_two_ranks(const ScratchFolder& scratch, const std::function<void(pid_t, pid_t)>& meanwhile) {
  const auto rank = [&](const char* number) {
    return Victim{.program = "stays",
                  .environment = {{"RANK", number}, {"WORLD_SIZE", "2"}},
                  .probe = {{"HOSTPROBE_OUT", scratch.run().string()}}};
  };
  ScratchFolder other;
  run_staying(rank("0"), scratch,
              [&](pid_t first) { run_staying(rank("1"), other, [&](pid_t second) { meanwhile(first, second); }); });
}

std::vector<Json> dumps_of(const Json& process) {
  std::vector<Json> dumps;
  for (const Json& event : process.at("events"))
    if (event.at("kind") == "trigger") dumps.push_back(event);
  return dumps;
}

TEST(CtlTrigger, APersonsCountsHoweverSoonAfterAnotherAndTheReportHasItsText) {
  ScratchFolder scratch;
  run_staying({.program = "stays", .probe = {{"HOSTPROBE_TRIGGER_S", "86400"}}}, scratch, [](pid_t pid) {
    for (const char* text : {"first", "second", "third"}) {
      const Outcome said = ctl(pid, {"trigger", text});
      EXPECT_TRUE(said.exited_with(0)) << said.describe();
    }
  });
  const std::vector<Json> dumps = dumps_of(report(scratch.run()).at("processes").at(0));
  ASSERT_EQ(dumps.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(dumps[i].at("dump"), i + 1);
    EXPECT_EQ(dumps[i].at("text"), (std::vector<std::string>{"first", "second", "third"}[i]));
  }
}

TEST(CtlTrigger, ATextThatWouldBeCutIsRefused) {
  ScratchFolder scratch;
  run_staying({.program = "stays"}, scratch, [](pid_t pid) {
    EXPECT_TRUE(ctl(pid, {"trigger", std::string(96, 'x')}).exited_with(1));
    EXPECT_TRUE(ctl(pid, {"trigger", std::string(95, 'x')}).exited_with(0));
  });
}

TEST(CtlTrigger, AtAStepComesWhenItHasEnded) {
  ScratchFolder scratch;
  run_staying({.program = "stays", .args = {"marks"}}, scratch, [](pid_t pid) {
    const Json before = await_status(pid, [](const Json& status) { return status.at("steps").at("count") > 2; });
    const std::uint64_t at = before.at("steps").at("count").get<std::uint64_t>() + 40;
    EXPECT_TRUE(ctl(pid, {"trigger", "--at-step", "1"}).exited_with(1)) << "that one is over";
    const Outcome said = ctl(pid, {"trigger", "--at-step", std::to_string(at), "slow", "one"});
    EXPECT_TRUE(said.exited_with(0)) << said.describe();
    EXPECT_TRUE(says(said.err, "step " + std::to_string(at))) << said.err;
    const Json after = await_status(pid, [](const Json& status) { return status.at("triggers") != 0; });
    EXPECT_EQ(after.at("last_trigger").at("text"), "step " + std::to_string(at) + ": slow one");
    EXPECT_GE(after.at("steps").at("count"), at);
    EXPECT_EQ(after.at("triggers"), 1);
  });
  EXPECT_EQ(dumps_of(report(scratch.run()).at("processes").at(0)).size(), 1u);
}

TEST(CtlTrigger, AtAStepIsRefusedWhereThereAreNone) {
  ScratchFolder scratch;
  run_staying({.program = "stays"}, scratch, [](pid_t pid) {
    EXPECT_TRUE(ctl(pid, {"trigger", "--at-step", "100"}).exited_with(1));
    EXPECT_TRUE(ctl(pid, {"trigger", "--at-step", "0"}).exited_with(2));
    EXPECT_TRUE(ctl(pid, {"trigger", "--at-step", "soon"}).exited_with(2));
    EXPECT_TRUE(ctl(pid, {"status", "--at-step", "100"}).exited_with(2));
  });
}

TEST(CtlSet, IsAllOrNothing) {
  ScratchFolder scratch;
  run_staying({.program = "stays"}, scratch, [](pid_t pid) {
    const Json before = await_status(pid, anything).at("settings");
    EXPECT_TRUE(ctl(pid, {"set", "stack_us=200", "bogus=3"}).exited_with(1));
    EXPECT_TRUE(ctl(pid, {"set", "stack_us=200", "hang_s=soon"}).exited_with(1));
    EXPECT_EQ(await_status(pid, anything).at("settings"), before);
    EXPECT_TRUE(ctl(pid, {"set", "stack_us=200", "hang_s=7"}).exited_with(0));
    const Json after = await_status(pid, anything).at("settings");
    EXPECT_EQ(after.at("stack_us"), 200);
    EXPECT_EQ(after.at("hang_s"), 7);
  });
}

TEST(CtlOfARun, AsksEveryRankAndSaysWhatEachAnswered) {
  ScratchFolder scratch;
  with_two_ranks(scratch, [&](pid_t first, pid_t second) {
    const Outcome said = ctl_run(scratch, {"trigger", "both", "hang"});
    EXPECT_TRUE(said.exited_with(0)) << said.describe();
    EXPECT_TRUE(says(said.err, "rank 0 (process " + std::to_string(first))) << said.err;
    EXPECT_TRUE(says(said.err, "rank 1 (process " + std::to_string(second))) << said.err;
    const Outcome lines = ctl_run(scratch, {"status"});
    EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 2) << lines.describe();
    const Json status = Json::parse(ctl_run(scratch, {"status", "--json"}).out);
    ASSERT_EQ(status.at("processes").size(), 2u) << status;
    for (int rank = 0; rank < 2; ++rank) {
      const Json& process = status.at("processes").at(static_cast<std::size_t>(rank));
      EXPECT_EQ(process.at("rank"), rank);
      EXPECT_EQ(process.at("error"), nullptr);
      EXPECT_EQ(process.at("last_trigger").at("text"), "both hang");
    }
  });
}

TEST(CtlOfARun, FailsWhereOneCouldNotAndTheOthersHaveDoneIt) {
  ScratchFolder scratch;
  with_two_ranks(scratch, [&](pid_t first, pid_t second) {
    kill(second, SIGSTOP);
    EXPECT_TRUE(ctl_run(scratch, {"stop", "--timeout", "1"}).exited_with(1));
    EXPECT_EQ(await_status(first, anything).at("recording"), false);
    kill(second, SIGCONT);
    EXPECT_EQ(await_status(second, anything).at("recording"), true);
  });
}

TEST(CtlOfARun, SetsNothingAnywhereWhereOneProcessCouldNot) {
  ScratchFolder scratch;
  with_two_ranks(scratch, [&](pid_t first, pid_t second) {
    const Json before = await_status(first, anything).at("settings");
    kill(second, SIGSTOP);
    EXPECT_TRUE(ctl_run(scratch, {"set", "hang_s=7", "--timeout", "1"}).exited_with(1));
    EXPECT_EQ(await_status(first, anything).at("settings"), before);
    kill(second, SIGCONT);
    EXPECT_TRUE(ctl_run(scratch, {"set", "hang_s=7", "bogus=1"}).exited_with(1));
    for (const pid_t pid : {first, second}) EXPECT_EQ(await_status(pid, anything).at("settings"), before);
    EXPECT_TRUE(ctl_run(scratch, {"set", "hang_s=7", "stack_us=5"}).exited_with(0));
    for (const pid_t pid : {first, second}) EXPECT_EQ(await_status(pid, anything).at("settings").at("hang_s"), 7);
  });
}

TEST(CtlFix, AutoOfOneRankIsRefusedAtOnceWithTheCommandForAll) {
  ScratchFolder scratch;
  with_two_ranks(scratch, [&](pid_t first, pid_t) {
    const Outcome one = ctl(first, {"fix", "on", "auto"});
    EXPECT_TRUE(one.exited_with(1)) << one.describe();
    EXPECT_TRUE(says(one.err, "hostprobe ctl " + scratch.run().string() + " fix on auto")) << one.err;
    EXPECT_TRUE(ctl_run(scratch, {"fix", "on", "auto"}).exited_with(0));
    EXPECT_TRUE(ctl(first, {"fix", "on", "nice"}).exited_with(0));
  });
}

TEST(CtlOfARun, OfWhichNobodyLivesSaysSo) {
  ScratchFolder scratch;
  run_staying({.program = "stays"}, scratch, [](pid_t) {});
  EXPECT_TRUE(ctl_run(scratch, {"status"}).exited_with(1));
  EXPECT_TRUE(run({.command = {probe_command(), "ctl", scratch.path() / "none", "status"}}).exited_with(2));
}

// What `ctl PID status` says of a program that was started so, and does not record. The patience is longer than the test.
std::string reason_of(const std::vector<std::string>& command, const Environment& environment) {
  ScratchFolder scratch;
  Launch launch{.command = command, .environment = environment};
  launch.environment.emplace("HOSTPROBE_OUT", scratch.run().string());
  std::string why;
  launch.while_running = [&](pid_t pid) {
    sleep(2);  // a program that records begins to within its first second
    const Outcome said = ctl(pid, {"status", "--timeout", "86400"});
    EXPECT_TRUE(said.exited_with(1)) << said.describe();
    why = said.err;
    kill(pid, SIGTERM);
  };
  run(launch);
  return why;
}

TEST(CtlStatus, SaysAtOnceWhyAProcessDoesNotRecord) {
  const std::string library = probe_library();
  EXPECT_TRUE(says(reason_of({"/bin/sleep", "60"}, {}), "libhostprobe.so is not loaded"));
  EXPECT_TRUE(
      says(reason_of({"/bin/sleep", "60"}, {{"LD_PRELOAD", library}, {"HOSTPROBE_OFF", "1"}}), "HOSTPROBE_OFF"));
  EXPECT_TRUE(says(reason_of({"/bin/sleep", "60"}, {{"LD_PRELOAD", library}, {"HOSTPROBE_TARGET", "train*"}}),
                   "HOSTPROBE_TARGET=train*"));
  EXPECT_TRUE(
      says(reason_of({"/bin/sh", "-c", "while :; do :; done"}, {{"LD_PRELOAD", library}, {"HOSTPROBE_TARGET", "all"}}),
           "no call worth a record"));
}

}  // namespace
}  // namespace hostprobe::test
