// waits: what the wait and wake hooks promise: every blocked call once, none that was satisfied at once, the right
// waker, and results exactly as without the probe.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

struct Blocking {
  const char* function;
  const char* wake;
};

void PrintTo(const Blocking& blocking, std::ostream* out) { *out << blocking.function << ' ' << blocking.wake; }

class BlockedWait : public testing::TestWithParam<Blocking> {
 protected:
  Pair pair_{{.program = "waits_blocked", .args = {GetParam().function, GetParam().wake}}};
};

TEST_P(BlockedWait, LeavesTheProgramAsItWas) { expect_same(pair_); }

TEST_P(BlockedWait, IsRecordedExactlyOnce) {
  const Dump calls = dump(pair_.run());
  const auto object = static_cast<std::uint64_t>(pair_.probed.number("object"));
  std::vector<Call> waits = calls.of(GetParam().function, pair_.probed.number("waiter"));
  std::erase_if(waits, [&](const Call& call) { return call.object() != object; });
  EXPECT_EQ(static_cast<long long>(waits.size()), pair_.probed.number("calls"));
  EXPECT_EQ(static_cast<long long>(blocked_count(report(pair_.run()), GetParam().function)),
            pair_.probed.number("calls"));
  EXPECT_EQ(calls.lost, 0u);
}

TEST_P(BlockedWait, NamesTheThreadThatWokeIt) {
  std::map<int, long long> wakers;
  for (const auto& line : pair_.probed.truth())
    if (line.at(0) == "waker") wakers[std::stoi(line.at(1))] = std::stoll(line.at(2));
  const auto object = static_cast<std::uint64_t>(pair_.probed.number("object"));
  std::vector<Call> waits = dump(pair_.run()).of(GetParam().function, pair_.probed.number("waiter"));
  std::erase_if(waits, [&](const Call& call) { return call.object() != object; });
  ASSERT_EQ(waits.size(), wakers.size());
  for (std::size_t round = 0; round < waits.size(); ++round)
    EXPECT_EQ(waits[round].waker_tid(), wakers[static_cast<int>(round)]) << "round " << round;
}

INSTANTIATE_TEST_SUITE_P(
    Waits, BlockedWait,
    testing::Values(Blocking{"sem_wait", "post"}, Blocking{"sem_timedwait", "post"}, Blocking{"sem_clockwait", "post"},
                    Blocking{"pthread_cond_wait", "signal"}, Blocking{"pthread_cond_timedwait", "signal"},
                    Blocking{"pthread_cond_clockwait", "signal"}, Blocking{"pthread_cond_wait", "broadcast"},
                    Blocking{"pthread_cond_timedwait", "broadcast"}, Blocking{"pthread_cond_clockwait", "broadcast"}),
    [](const auto& each) { return std::string(each.param.function) + "_by_" + each.param.wake; });

class SharedObject : public testing::TestWithParam<const char*> {};

// Four waiters on one object, three wakers in turn: each waiter's calls in order, held against what it saw itself.
TEST_P(SharedObject, EveryWaiterKnowsItsOwnWaker) {
  const Pair pair({.program = "waits_shared", .args = {GetParam()}});
  expect_same(pair);
  std::map<long long, std::vector<long long>> wakers;
  for (const auto& line : pair.probed.truth()) wakers[std::stoll(line.at(1))].push_back(std::stoll(line.at(2)));
  ASSERT_EQ(wakers.size(), 4u);
  const Dump calls = dump(pair.run());
  const char* function = std::string(GetParam()) == "sem" ? "sem_wait" : "pthread_cond_wait";
  for (const auto& [waiter, expected] : wakers) {
    const std::vector<Call> waits = calls.of(function, waiter);
    ASSERT_EQ(waits.size(), expected.size()) << "waiter " << waiter;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      // The last round posts four times in a row: a later post may hide the one that woke, and is not taken for it.
      const bool hidden = i + 1 == waits.size() && waits[i].waker_tid() == 0;
      EXPECT_TRUE(expected[i] == 0 || hidden || waits[i].waker_tid() == expected[i])
          << "waiter " << waiter << ", call " << i << ": " << waits[i].waker_tid() << " instead of " << expected[i];
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Waits, SharedObject, testing::Values("sem", "signal", "broadcast"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Waits, ThoseSatisfiedAtOnceAreNotCounted) {
  const Pair pair({.program = "waits_at_once"});
  expect_same(pair);
  if (trace_files(pair.run()).empty()) return;  // nothing worth a record: nothing worth a file
  const auto answers = report(pair.run());
  const Dump calls = dump(pair.run());
  for (const char* function : {"sem_wait", "sem_timedwait", "sem_clockwait"}) {
    EXPECT_EQ(blocked_count(answers, function), 0u) << function;
    EXPECT_TRUE(calls.blocked(function).empty()) << function;
  }
}

TEST(Waits, AnswerBadAndLateArgumentsAsWithoutUs) {
  const Pair pair({.program = "waits_results"});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0));
  expect_same(pair);
}

TEST(Waits, ForFilesAnswerAsWithoutUsUnderEachName) {
  const Pair pair({.program = "files_long"});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_FALSE(dump(pair.run()).of("pwritev2").empty()) << "it waits for the disk";
}

TEST(Waits, OfEveryKindAnswerOddArgumentsAsWithoutUs) {
  const Pair pair({.program = "waits_odd_arguments"});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
}

class BadArguments : public testing::TestWithParam<std::pair<const char*, Environment>> {};

// Whether the object is free or not, and in processes that are not recorded as well.
TEST_P(BadArguments, AreAnsweredAsWithoutUs) {
  const Pair pair({.program = "waits_bad_arguments", .probe = GetParam().second});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
}
INSTANTIATE_TEST_SUITE_P(Waits, BadArguments,
                         testing::Values(std::pair("trace", Environment{{"HOSTPROBE_MODE", "trace"}}),
                                         std::pair("flight", Environment{{"HOSTPROBE_MODE", "flight"}}),
                                         std::pair("monitor", Environment{{"HOSTPROBE_MODE", "monitor"}}),
                                         std::pair("not_recorded", Environment{{"HOSTPROBE_TARGET", "others"}})),
                         [](const auto& each) { return std::string(each.param.first); });

// Below the threshold there are no records, but the same counts, the same totals, and percentiles.
TEST(Waits, TooShortForRecordsAreCountedAndSummedUpExactly) {
  const Pair pair({.program = "waits_short", .args = {"2000"}, .probe = {{"HOSTPROBE_WAIT_US", "100"}}});
  expect_same(pair);
  const std::size_t recorded = dump(pair.run()).of("ppoll").size();
  EXPECT_GE(recorded, 20u);
  EXPECT_LT(recorded, 2000u) << "not one of 1980 waits of a microsecond was shorter than 100";
  const auto answers = report(pair.run());
  for (const auto& site : answers.at("processes").at(0).at("waits")) {
    if (site.at("function") != "ppoll") continue;
    EXPECT_EQ(site.at("count"), 2000);
    const double own_ms = 1e-6 * static_cast<double>(pair.probed.number("total-ns"));
    EXPECT_LE(site.at("total_ms").get<double>(), own_ms);
    EXPECT_LT(site.at("p50_us").get<double>(), 1000) << "the median of one long wait in a hundred is a short one";
    EXPECT_GE(site.at("max_us").get<double>(), 1000);
    return;
  }
  FAIL() << "no site of ppoll";
}

// The counters lie in shared memory like the records do.
TEST(Waits, TooShortForRecordsSurviveAKill) {
  const ScratchFolder scratch;
  const OneRun killed = run_probed(
      {.program = "waits_short", .args = {"2000", "killed"}, .probe = {{"HOSTPROBE_WAIT_US", "100"}}}, scratch);
  EXPECT_TRUE(killed.outcome.ended_by(SIGKILL)) << killed.outcome.describe();
  EXPECT_EQ(blocked_count(report(scratch.run()), "ppoll"), 2000u);
  EXPECT_TRUE(run({.command = {probe_command(), "recover", scratch.run()}}).exited_with(0));
  EXPECT_EQ(blocked_count(report(scratch.run()), "ppoll"), 2000u);
}

TEST(Waits, EndWithEintrAsWithoutUsAndAreRecordedOnce) {
  const Pair pair({.program = "waits_interrupted"});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0));
  expect_same(pair);
  const Dump calls = dump(pair.run());
  const long long waiter = pair.probed.number("waiter");
  EXPECT_EQ(calls.of("sem_wait", waiter).size(), 2u);
  EXPECT_EQ(calls.of("sem_timedwait", waiter).size(), 1u);
  EXPECT_EQ(calls.of("sem_clockwait", waiter).size(), 1u);
  EXPECT_EQ(calls.of("pthread_cond_timedwait", waiter).size(), 1u);
}

// Posts race with waits here, so a waker may stay unknown; but a thread that cannot have posted is never named, and
// no call is recorded that was not made.
TEST(Waits, NeverNameAWrongWakerUnderARace) {
  const Pair pair({.program = "waits_ping_pong"});
  expect_same(pair);
  std::map<long long, long long> waker_of;
  for (const auto& line : pair.probed.truth()) waker_of[std::stoll(line.at(1))] = std::stoll(line.at(2));
  ASSERT_EQ(waker_of.size(), 4u);
  std::map<long long, std::size_t> calls_of;
  std::size_t wrong = 0, unknown = 0, negative = 0;
  const Dump calls = dump(pair.run());
  for (const Call& call : calls.calls) {
    if (call.function != "sem_wait" && call.function != "pthread_cond_wait") continue;
    ++calls_of[call.tid];
    negative += call.duration_ns < 0;
    unknown += call.waker_tid() == 0;
    wrong += call.waker_tid() != 0 && call.waker_tid() != waker_of[call.tid];
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(negative, 0u);
  for (const auto& [tid, count] : calls_of) EXPECT_LE(count, 20000u) << "thread " << tid;
  RecordProperty("unknown_wakers", static_cast<int>(unknown));
}

TEST(Waits, OnASemaphoreOfTwoProcessesNameNoThreadOfTheirOwn) {
  const Pair pair({.program = "waits_between_processes"});
  expect_same(pair);
  const long long parent = pair.probed.number("parent");
  const long long child = pair.probed.number("child");
  for (const Call& call : dump(pair.run()).of("sem_wait"))
    EXPECT_TRUE(call.waker_tid() == 0 || call.waker_tid() == (call.pid == parent ? child : parent));
}

}  // namespace
}  // namespace hostprobe::test
