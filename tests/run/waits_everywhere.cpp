// waits_everywhere: every function that can block, one by one: the program is as without us, each blocked call counts
// once, below and above the recording threshold, and where one thread lets another go, it is named.
#include <gtest/gtest.h>

#include <set>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

constexpr std::uint64_t kRounds = 12;

const char* const kFunctions[] = {"pthread_mutex_lock",
                                  "pthread_mutex_timedlock",
                                  "pthread_mutex_clocklock",
                                  "pthread_rwlock_rdlock",
                                  "pthread_rwlock_wrlock",
                                  "pthread_rwlock_timedrdlock",
                                  "pthread_rwlock_timedwrlock",
                                  "pthread_rwlock_clockrdlock",
                                  "pthread_rwlock_clockwrlock",
                                  "pthread_spin_lock",
                                  "pthread_barrier_wait",
                                  "pthread_once",
                                  "pthread_join",
                                  "pthread_timedjoin_np",
                                  "pthread_clockjoin_np",
                                  "futex",
                                  "poll",
                                  "ppoll",
                                  "select",
                                  "pselect",
                                  "epoll_wait",
                                  "epoll_pwait",
                                  "epoll_pwait2",
                                  "read",
                                  "readv",
                                  "recv",
                                  "recvfrom",
                                  "recvmsg",
                                  "recvmmsg",
                                  "accept",
                                  "accept4",
                                  "flock",
                                  "nanosleep",
                                  "clock_nanosleep",
                                  "usleep",
                                  "waitpid",
                                  "wait",
                                  "wait4",
                                  "waitid",
                                  "system",
                                  "pclose"};

// Woken by a thread of the same program that says so through a hook.
bool has_waker(const std::string& function) {
  return function.starts_with("pthread_mutex") || function.starts_with("pthread_rwlock") ||
         function == "pthread_barrier_wait" || function == "futex";
}

std::uint64_t count_of(const nlohmann::json& report, const std::string& function, const char* role) {
  std::uint64_t sum = 0;
  for (const auto& process : report.at("processes"))
    for (const auto& site : process.at("waits"))
      if (site.at("function") == function && site.at("role") == role) sum += site.at("count").get<std::uint64_t>();
  return sum;
}

// A thread that is joined wakes the one that joins it by ending.
TEST(Waits, AJoinIsEndedByTheThreadThatIsJoined) {
  const Pair pair({.program = "waits_everywhere", .args = {"pthread_join"}});
  std::set<long long> wakers;
  for (const Call& wait : dump(pair.run()).of("pthread_join", pair.probed.number("waiter")))
    wakers.insert(wait.waker_tid());
  EXPECT_FALSE(wakers.contains(0));
  EXPECT_FALSE(wakers.contains(pair.probed.number("releaser")));
  EXPECT_EQ(wakers.size(), kRounds) << "a thread of its own each time";
}

// With no threshold whatever may wait counts, and what cannot does not.
TEST(Waits, AFileLockIsWaitedForWhenItIsTakenNotWhenItIsGivenBack) {
  const Pair pair({.program = "waits_everywhere", .args = {"flock"}, .probe = {{"HOSTPROBE_IO_US", "0"}}});
  expect_same(pair);
  EXPECT_EQ(dump(pair.run()).of("flock", pair.probed.number("waiter")).size(), kRounds);
}

class WaitEverywhere : public testing::TestWithParam<const char*> {};

TEST_P(WaitEverywhere, LeavesTheProgramAsItWasAndIsRecordedOnceWithItsWaker) {
  const std::string function = GetParam();
  const Pair pair({.program = "waits_everywhere", .args = {function}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0));
  expect_same(pair);
  const std::vector<Call> waits = dump(pair.run()).of(function, pair.probed.number("waiter"));
  EXPECT_EQ(waits.size(), kRounds);
  if (!has_waker(function)) return;
  for (const Call& wait : waits) EXPECT_EQ(wait.waker_tid(), pair.probed.number("releaser"));
}

// The longest threshold there is: most of these waits are shorter, and none may be missing.
TEST_P(WaitEverywhere, CountsExactlyBelowTheRecordingThreshold) {
  const std::string function = GetParam();
  const Pair pair({.program = "waits_everywhere", .args = {function}, .probe = {{"HOSTPROBE_WAIT_US", "100"}}});
  expect_same(pair);
  EXPECT_EQ(count_of(report(pair.run()), function, "other"), kRounds);
}

TEST_P(WaitEverywhere, UnwindsAsWithoutUsWhenItIsCancelled) {
  const std::string function = GetParam();
  const Pair pair({.program = "waits_everywhere", .args = {function, "cancelled"}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_EQ(dump(pair.run()).of(function, pair.probed.number("waiter")).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Waits, WaitEverywhere, testing::ValuesIn(kFunctions),
                         [](const auto& each) { return std::string(each.param); });

TEST(Waits, EveryFunctionOfTheVictimIsTested) {
  const Outcome outcome = run({.command = {program_path("waits_everywhere")}});
  std::set<std::string> known;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) known.insert(line);
  EXPECT_EQ(known, std::set<std::string>(std::begin(kFunctions), std::end(kFunctions)));
}

}  // namespace
}  // namespace hostprobe::test
