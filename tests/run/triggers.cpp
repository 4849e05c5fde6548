// triggers: what asks for the last seconds: a slow step, a signal, a process that makes no progress any more.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "answers.h"
#include "run_probed.h"
#include "staying.h"

namespace hostprobe::test {
namespace {

bool has_trigger(const nlohmann::json& status) { return status.at("triggers") != 0; }
bool anything(const nlohmann::json&) { return true; }

TEST(SlowStep, AsksWithTheNumberOfTheStepAndHowLongItTook) {
  ScratchFolder scratch;
  const OneRun one = run_staying({.program = "stays", .args = {"slow"}}, scratch, [](pid_t pid) {
    const auto last = await_status(pid, has_trigger).at("last_trigger");
    EXPECT_EQ(last.at("reason"), "slow_step");
    const std::string text = last.at("text");
    EXPECT_TRUE(text.starts_with("step 11 took ") && text.find(" ms, the median is ") != std::string::npos) << text;
  });
  EXPECT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  EXPECT_EQ(dump(scratch.run()).of("hostprobe_step").size(), 11u);
}

class NoSlowStep : public testing::TestWithParam<const char*> {};

TEST_P(NoSlowStep, AsksWhenNoneIsSoSlow) {
  ScratchFolder scratch;
  Victim victim{.program = "stays", .args = {"slow"}, .probe = {{"HOSTPROBE_SLOW_STEP_PCT", GetParam()}}};
  run_staying(victim, scratch, [](pid_t pid) { EXPECT_EQ(await_status(pid, anything).at("triggers"), 0); });
}
INSTANTIATE_TEST_SUITE_P(Triggers, NoSlowStep, testing::Values("0", "100000"));

class TriggerSignal : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(TriggerSignal, AsksAndTheProgramGoesOn) {
  ScratchFolder scratch;
  Victim victim{.program = "stays", .probe = {{"HOSTPROBE_TRIGGER_SIGNAL", GetParam().first}}};
  const OneRun one = run_staying(victim, scratch, [](pid_t pid) {
    EXPECT_EQ(await_status(pid, anything).at("triggers"), 0);
    kill(pid, GetParam().second);
    const auto last = await_status(pid, has_trigger).at("last_trigger");
    EXPECT_EQ(last.at("reason"), "signal");
    const std::string text = last.at("text");
    EXPECT_TRUE(text.starts_with("signal " + std::to_string(GetParam().second))) << text;
    EXPECT_TRUE(text.ends_with(" from process " + std::to_string(getpid()))) << text;
  });
  EXPECT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  EXPECT_EQ(one.outcome.out, "handled 0\n");
  EXPECT_EQ(probe_messages(one.outcome.err).size(), 0u) << one.outcome.err;
}
INSTANTIATE_TEST_SUITE_P(Triggers, TriggerSignal,
                         testing::Values(std::pair{"USR2", SIGUSR2}, std::pair{"SIGUSR1", SIGUSR1},
                                         std::pair{"12", SIGUSR2}, std::pair{"RTMIN+3", SIGRTMIN + 3},
                                         std::pair{"SIGRTMAX-1", SIGRTMAX - 1}, std::pair{"RTMIN", SIGRTMIN}));

TEST(Signals, ThatTheProgramHandlesItselfStayItsOwn) {
  ScratchFolder scratch;
  Victim victim{.program = "stays", .args = {"handles"}, .probe = {{"HOSTPROBE_TRIGGER_SIGNAL", "USR2"}}};
  const OneRun one = run_staying(victim, scratch, [](pid_t pid) {
    kill(pid, SIGUSR2);
    EXPECT_EQ(await_status(pid, anything).at("triggers"), 0);
  });
  EXPECT_EQ(one.outcome.out, "handled 1\n") << one.outcome.describe();
}

TEST(Signals, ThatTheProgramIgnoresStayIgnored) {
  ScratchFolder scratch;
  Victim victim{.program = "stays", .args = {"ignores"}, .probe = {{"HOSTPROBE_TRIGGER_SIGNAL", "USR2"}}};
  const OneRun one = run_staying(victim, scratch, [](pid_t pid) {
    kill(pid, SIGUSR2);
    EXPECT_EQ(await_status(pid, anything).at("triggers"), 0);
  });
  EXPECT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
}

TEST(Signals, AskInAForkedChildToo) {
  ScratchFolder scratch;
  Victim victim{.program = "stays", .args = {"forks"}, .probe = {{"HOSTPROBE_TRIGGER_SIGNAL", "USR2"}}};
  const OneRun one = run_staying(victim, scratch, [&](pid_t pid) {
    const auto child = static_cast<pid_t>(OneRun{{}, scratch.path() / "probed"}.number("child"));
    EXPECT_FALSE(await_status(child, anything).is_null());
    kill(child, SIGUSR2);
    EXPECT_EQ(await_status(child, has_trigger).at("last_trigger").at("reason"), "signal");
    EXPECT_EQ(await_status(pid, anything).at("triggers"), 0);
    kill(child, SIGTERM);
  });
  EXPECT_EQ(one.outcome.out, "child: exit status 3\nhandled 0\n") << one.outcome.describe();
}

class BadSignal : public testing::TestWithParam<const char*> {};

TEST_P(BadSignal, IsSaidOnceAndNoneIsUsed) {
  const Pair pair({.program = "works", .probe = {{"HOSTPROBE_TRIGGER_SIGNAL", GetParam()}}});
  expect_same(pair, 1);
  const auto messages = probe_messages(pair.probed.outcome.err);
  ASSERT_EQ(messages.size(), 1u) << pair.probed.outcome.err;
  EXPECT_NE(messages[0].find("HOSTPROBE_TRIGGER_SIGNAL"), std::string::npos) << messages[0];
}
INSTANTIATE_TEST_SUITE_P(Triggers, BadSignal,
                         testing::Values("USR3", "usr2", "SIG", "SIGSEGV", "KILL", "0", "33", "65", "999999999999",
                                         "-1", "RTMIN+99", "RTMIN-1", "RTMAX+1", "RTMIN+"));

Victim on_the_stand_in(std::vector<std::string> args) {
  return {.program = "driver_stays",
          .args = std::move(args),
          .environment = {{"LD_LIBRARY_PATH", simnode_folder()}, {"SIMNODE_GPUS", "1"}},
          .probe = {{"HOSTPROBE_HANG_S", "1"}}};
}

TEST(Hang, AsksOnceWhenNothingIsLaunchedAnyMore) {
  ScratchFolder scratch;
  const OneRun one = run_staying(on_the_stand_in({"hangs"}), scratch, [](pid_t pid) {
    const auto last = await_status(pid, has_trigger).at("last_trigger");
    EXPECT_EQ(last.at("reason"), "hang");
    EXPECT_EQ(last.at("text"), "no launch, collective or step for 1 s");
    sleep(3);
    EXPECT_EQ(await_status(pid, anything).at("triggers"), 1);
  });
  EXPECT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
}

TEST(Hang, IsNotAProcessThatLaunchesOrOneThatNeverDid) {
  ScratchFolder launching, waiting;
  run_staying(on_the_stand_in({}), launching, [&](pid_t pid) {
    Victim victim{.program = "stays", .probe = {{"HOSTPROBE_HANG_S", "1"}}};
    run_staying(victim, waiting, [&](pid_t other) {
      sleep(4);
      EXPECT_EQ(await_status(pid, anything).at("triggers"), 0);
      EXPECT_EQ(await_status(other, anything).at("triggers"), 0);
    });
  });
}

TEST(Hang, IsNoticedThroughTheWaitsThatGoOn) {
  ScratchFolder scratch;
  Victim victim{
      .program = "stays", .args = {"slow"}, .probe = {{"HOSTPROBE_HANG_S", "1"}, {"HOSTPROBE_SLOW_STEP_PCT", "0"}}};
  run_staying(victim, scratch,
              [](pid_t pid) { EXPECT_EQ(await_status(pid, has_trigger).at("last_trigger").at("reason"), "hang"); });
}

// As in a job on CPUs, where nothing is launched and nothing marked. Such steps are looked for in ranks, after ten seconds.
TEST(Hang, IsNoticedWhereStepsWereFoundInWaitsAlone) {
  ScratchFolder scratch;
  Victim victim{.program = "stays",
                .args = {"even"},
                .probe = {{"HOSTPROBE_HANG_S", "1"}, {"HOSTPROBE_SLOW_STEP_PCT", "0"}, {"RANK", "0"}},
                .limit = std::chrono::seconds(120)};
  run_staying(victim, scratch, [](pid_t pid) {
    bool found = false;
    const auto has_steps = [](const auto& status) { return status.at("steps").at("count") > 100; };
    for (int i = 0; i < 8 && !found; ++i) found = has_steps(await_status(pid, has_steps));
    ASSERT_TRUE(found);
    EXPECT_EQ(await_status(pid, anything).at("triggers"), 0);
    kill(pid, SIGUSR1);
    EXPECT_EQ(await_status(pid, has_trigger).at("last_trigger").at("reason"), "hang");
  });
}

}  // namespace
}  // namespace hostprobe::test
