// stacks: call stacks are taken on whatever stack a program waits on, and never harm it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "run_probed.h"

namespace hostprobe::test {
namespace {

const Environment kEachWait = {{"HOSTPROBE_STACK_INTERVAL_MS", "0"}};
const Environment kEachWaitOnDisk = {{"HOSTPROBE_STACK_INTERVAL_MS", "0"}, {"HOSTPROBE_MODE", "trace"}};

constexpr long kLongNs = 1000000;

struct DumpedWait {
  std::string function;
  long tid = 0, ns = 0;
  std::vector<std::string> stack;  // functions, innermost first; empty: none was taken
};

// In time order.
std::vector<DumpedWait> waits_of(const std::filesystem::path& folder) {
  const Outcome dumped = run({.command = {probe_command(), "dump", folder, "--json"}});
  std::vector<DumpedWait> waits;
  std::istringstream lines(dumped.out);
  for (std::string line; std::getline(lines, line);) {
    const auto call = nlohmann::json::parse(line);
    DumpedWait& wait =
        waits.emplace_back(DumpedWait{call.at("function"), call.at("tid"), call.value("duration_ns", 0L), {}});
    if (call.contains("stack")) wait.stack = call.at("stack").get<std::vector<std::string>>();
    for (std::string& function : wait.stack) function.resize(std::min(function.find_first_of("( +"), function.size()));
  }
  return waits;
}

std::vector<std::string> last_stack(const std::filesystem::path& folder) {
  std::vector<std::string> stack;
  for (const DumpedWait& wait : waits_of(folder))
    if (wait.function == "sem_timedwait" && wait.ns >= kLongNs && !wait.stack.empty()) stack = wait.stack;
  return stack;
}

struct OddStack {
  const char* kind;
  std::vector<std::string> first;  // functions that the stack begins with, no others but those that `last` allows
  std::string last = {};           // function or object that follows them; empty: nothing does
};
void PrintTo(const OddStack& each, std::ostream* out) { *out << each.kind; }

class OddStacks : public testing::TestWithParam<OddStack> {};

TEST_P(OddStacks, LeaveTheProgramAsItWas) {
  const Pair pair({.program = "waits_on_odd_stacks", .args = {GetParam().kind}, .probe = kEachWait});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
}

TEST_P(OddStacks, AreToldAsFarAsTheyAreKnown) {
  const Pair pair({.program = "waits_on_odd_stacks", .args = {GetParam().kind}, .probe = kEachWaitOnDisk});
  std::vector<std::string> expected = GetParam().first;
  if (!GetParam().last.empty()) expected.push_back(GetParam().last);
  EXPECT_EQ(last_stack(pair.run()), expected);
}

const std::vector<std::string> kOnMadeStack = {"wait_long", "on_made_stack"};
INSTANTIATE_TEST_SUITE_P(Stacks, OddStacks,
                         testing::Values(OddStack{"context", {"wait_long", "in_context"}, "libc.so.6"},
                                         OddStack{"garbage", kOnMadeStack}, OddStack{"unmapped", kOnMadeStack},
                                         OddStack{"words", kOnMadeStack}, OddStack{"heap", kOnMadeStack},
                                         OddStack{"plain", kOnMadeStack, "waits_on_odd_stacks"},
                                         OddStack{"moved", kOnMadeStack, "main"},
                                         OddStack{"circle", kOnMadeStack, "main"},
                                         OddStack{"small", {}}),  // less than 16 KiB: none is taken
                         [](const auto& each) { return std::string(each.param.kind); });

TEST(Stacks, AreTakenOfTheFirstThreadHoweverDeepItIs) {
  for (const char* kind : {"jumped", "deep"}) {
    const Pair pair({.program = "waits_on_odd_stacks", .args = {kind}, .probe = kEachWaitOnDisk});
    expect_same(pair);
    const auto functions = last_stack(pair.run());
    ASSERT_GE(functions.size(), 4u) << kind;
    EXPECT_EQ(functions.front(), "wait_long");
    EXPECT_EQ(std::count(functions.begin(), functions.end(), "main"), 1);
    EXPECT_EQ(functions.back(), "_start");
  }
}

// At most one each four intervals, from an eighth of HOSTPROBE_STACK_US on.
TEST(Stacks, AreTakenOfAThreadThatNeverWaitsLong) {
  Environment settings = {{"HOSTPROBE_STACK_INTERVAL_MS", "5"}, {"HOSTPROBE_MODE", "trace"}};
  const auto short_ones_with_a_stack = [&settings] {
    const Pair pair({.program = "waits_shortly", .args = {"1000"}, .probe = settings});
    expect_same(pair);
    const std::vector<DumpedWait> waits = waits_of(pair.run());
    return std::count_if(waits.begin(), waits.end(), [](const DumpedWait& wait) {
      return wait.function == "nanosleep" && wait.ns < kLongNs && !wait.stack.empty();
    });
  };
  const auto taken = short_ones_with_a_stack();
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 500);
  settings["HOSTPROBE_STACK_US"] = "1000000";
  EXPECT_EQ(short_ones_with_a_stack(), 0);
}

// Whoever has just got a lock makes them wait longer by what it does then: so its stack is taken before its next wait.
TEST(Stacks, OfWaitsForALockAreTakenAlsoWhereOthersWaitForItAllTheTime) {
  const Pair pair(
      {.program = "takes_turns", .probe = {{"HOSTPROBE_MODE", "trace"}, {"HOSTPROBE_STACK_INTERVAL_MS", "20"}}});
  expect_same(pair);
  std::set<long> threads_with_a_stack;
  for (const DumpedWait& wait : waits_of(pair.run())) {
    if (wait.function != "pthread_mutex_lock" || wait.stack.empty()) continue;
    EXPECT_EQ(wait.stack.front(), "take_turn");
    threads_with_a_stack.insert(wait.tid);
  }
  EXPECT_EQ(threads_with_a_stack.size(), 4u);
}

class SignalStack : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(SignalStack, HasRoomForTheWaitsItHadRoomForWithoutUs) {
  const std::set<std::string> kOfHandler = {"nanosleep", "sem_timedwait", "sem_clockwait", "poll", "clock_nanosleep"};
  for (const Environment& settings : {Environment{}, kEachWait, kEachWaitOnDisk}) {
    const Pair pair({.program = "waits_on_signal_stack", .args = GetParam(), .probe = settings});
    EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
    expect_same(pair);
    for (const DumpedWait& wait : waits_of(pair.run())) {
      EXPECT_TRUE(wait.stack.empty() || !kOfHandler.contains(wait.function) || wait.ns < kLongNs) << wait.function;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Stacks, SignalStack,
                         testing::Values(std::vector<std::string>{}, std::vector<std::string>{"early"},
                                         std::vector<std::string>{"65536"}),
                         [](const auto& each) {
                           return each.param.empty() ? "small" : each.param[0] == "early" ? "early" : "large";
                         });

}  // namespace
}  // namespace hostprobe::test
