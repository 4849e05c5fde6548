// signals: handlers that wait in the middle of a wait, and signals that end the program.
#include <gtest/gtest.h>
#include <signal.h>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

class WaitingHandler : public testing::Test {
 protected:
  Pair pair_{{.program = "signals_handler_waits"}};
};

TEST_F(WaitingHandler, LeavesTheProgramAsItWas) {
  EXPECT_TRUE(pair_.bare.outcome.exited_with(0)) << pair_.bare.outcome.describe();
  expect_same(pair_);
}

TEST_F(WaitingHandler, HasEveryWaitRecordedOnceOrCountedLost) {
  const Dump calls = dump(pair_.run());
  const auto handled = static_cast<std::uint64_t>(pair_.probed.number("handled"));
  const auto timed = static_cast<std::uint64_t>(pair_.probed.number("timed"));
  const auto in_handler = calls.of("sem_clockwait").size();
  const auto in_main = calls.of("sem_timedwait").size();
  EXPECT_LE(in_handler, handled);
  EXPECT_LE(in_main, timed);
  EXPECT_GE(in_handler + in_main + calls.lost, handled + timed);
}

TEST_F(WaitingHandler, NeverCorruptsARecord) {
  const long long main_thread = pair_.probed.number("main");
  const long long partner = pair_.probed.number("partner");
  for (const Call& call : dump(pair_.run()).calls) {
    EXPECT_TRUE(call.tid == main_thread || call.tid == partner) << call.tid;
    EXPECT_GE(call.duration_ns, 0) << call.function;
    const long long other = main_thread + partner - call.tid;
    EXPECT_TRUE(call.waker_tid() == 0 || call.waker_tid() == other) << call.function << ' ' << call.waker_tid();
  }
}

class EndingSignal : public testing::TestWithParam<int> {};

TEST_P(EndingSignal, EndsTheProgramAsWithoutUsAndLeavesItsWaits) {
  const Pair pair({.program = "signals_end_it", .args = {std::to_string(GetParam())}});
  EXPECT_TRUE(pair.probed.outcome.ended_by(GetParam())) << pair.probed.outcome.describe();
  expect_same(pair);
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 5u);
}
INSTANTIATE_TEST_SUITE_P(Signals, EndingSignal,
                         testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGALRM, SIGABRT, SIGSEGV, SIGKILL),
                         [](const auto& each) { return std::string(sigabbrev_np(each.param)); });

// A handler that jumps out leaves a hook or a wait in the middle.
class JumpingHandler : public testing::TestWithParam<const char*> {
 protected:
  static Environment mode() { return {{"HOSTPROBE_MODE", GetParam()}}; }
};

TEST_P(JumpingHandler, OutOfCallsLosesNoMoreThanThose) {
  const Pair pair({.program = "signals_jump_out", .args = {"calls"}, .probe = mode()});
  expect_same(pair);
  const auto answers = report(pair.run());
  const auto made = static_cast<std::uint64_t>(pair.probed.number("made"));
  const auto left = static_cast<std::uint64_t>(pair.probed.number("left"));
  const auto kept = answers.at("processes").at(0).at("records").get<std::uint64_t>();
  EXPECT_GE(left, 10u);
  EXPECT_LE(lost_count(answers), left + left / 10 + 5) << "of " << made;
  EXPECT_GE(kept + lost_count(answers) + left, made);
  EXPECT_LE(kept, made + 1);
}

TEST_P(JumpingHandler, OutOfWaitsLeavesNoneOfThemOpen) {
  const Pair pair({.program = "signals_jump_out", .args = {"waits"}, .probe = mode()});
  expect_same(pair);
  const auto answers = report(pair.run());
  EXPECT_GE(pair.probed.number("left"), pair.probed.number("made"));
  for (const auto& process : answers.at("processes"))
    for (const auto& thread : process.at("threads")) EXPECT_FALSE(thread.contains("open_wait")) << thread.dump();
}

TEST_P(JumpingHandler, ThatForksLeavesBothRecording) {
  const Pair pair({.program = "signals_jump_out", .args = {"forks"}, .probe = mode()});
  expect_same(pair);
  EXPECT_EQ(pair.probed.number("made"), 4);
  const auto answers = report(pair.run());
  EXPECT_EQ(answers.at("processes").size(), 5u);
  for (const auto& process : answers.at("processes")) {
    EXPECT_GE(process.at("records").get<std::uint64_t>(), 3000u) << process.dump();
    EXPECT_LE(process.at("lost").get<std::uint64_t>(), 20u) << process.dump();
  }
}

INSTANTIATE_TEST_SUITE_P(Signals, JumpingHandler, testing::Values("trace", "flight", "monitor"));

}  // namespace
}  // namespace hostprobe::test
