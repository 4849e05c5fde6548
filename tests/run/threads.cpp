// threads: how threads begin, are named and end, seen through the probe: by return, by cancellation, by pthread_exit, in
// masses, detached, waiting to their very last moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

nlohmann::json thread_of(const nlohmann::json& report, long long tid) {
  for (const auto& process : report.at("processes"))
    for (const auto& thread : process.at("threads"))
      if (thread.at("tid") == tid) return thread;
  return nullptr;
}

class NamedThreads : public testing::Test {
 protected:
  Pair pair_{{.program = "threads_named"}};
};

TEST_F(NamedThreads, LeaveTheProgramAsItWas) {
  EXPECT_TRUE(pair_.bare.outcome.exited_with(0));
  expect_same(pair_);
}

TEST_F(NamedThreads, HaveTheirNamesInTheReport) {
  const auto answers = report(pair_.run());
  const auto alpha = thread_of(answers, pair_.probed.number("alpha"));
  const auto beta = thread_of(answers, pair_.probed.number("beta"));
  ASSERT_TRUE(alpha.is_object() && beta.is_object()) << answers.dump(1);
  EXPECT_EQ(alpha.at("name"), "victim-alpha");
  EXPECT_EQ(beta.at("name"), "victim-beta");
}

TEST_F(NamedThreads, HaveTheirCreatorAndStartRoutineRecorded) {
  const Dump calls = dump(pair_.run());
  const auto by_main = calls.of("pthread_create", pair_.probed.number("main"));
  const auto by_alpha = calls.of("pthread_create", pair_.probed.number("alpha"));
  ASSERT_EQ(by_alpha.size(), 1u);
  EXPECT_NE(by_alpha[0].text("start").find("routine_of_beta"), std::string::npos) << by_alpha[0].args.dump();
  EXPECT_TRUE(std::any_of(by_main.begin(), by_main.end(), [](const Call& call) {
    return call.text("start").find("routine_of_alpha") != std::string::npos;
  }));
}

// The start routine of a std::thread lies in libstdc++ and says nothing; the type of what it runs does.
TEST_F(NamedThreads, OfTheStandardLibraryHaveTheTypeTheyRunRecorded) {
  const auto by_main = dump(pair_.run()).of("pthread_create", pair_.probed.number("main"));
  EXPECT_TRUE(std::any_of(by_main.begin(), by_main.end(), [](const Call& call) {
    return call.text("type").find("ChoreOfTheVictim") != std::string::npos;
  }));
}

TEST(Threads, TwoThousandShortOnesAreAllRecordedOrCountedLost) {
  const Pair pair({.program = "threads_many"});
  expect_same(pair);
  const Dump calls = dump(pair.run());
  const auto waits = calls.of("sem_timedwait");
  EXPECT_LE(waits.size(), 2000u);
  EXPECT_GE(waits.size() + calls.lost, 2000u);
  EXPECT_EQ(calls.lost, lost_count(report(pair.run())));
  // HOSTPROBE_FLIGHT_MB + HOSTPROBE_BUFFER_MB for chunks, by default 48 MiB; 20 MiB of tables come on top. Only what is used
  // of it takes memory.
  EXPECT_LE(pair.probed.number("shared-bytes"), 68 << 20);
}

struct Cancelling {
  const char* function;
  const char* way;
};
void PrintTo(const Cancelling& cancelling, std::ostream* out) { *out << cancelling.function << ' ' << cancelling.way; }

class Cancelled : public testing::TestWithParam<Cancelling> {};

TEST_P(Cancelled, ThreadInsideAWaitUnwindsAsWithoutUs) {
  const Pair pair({.program = "threads_cancelled", .args = {GetParam().function, GetParam().way}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  const Dump calls = dump(pair.run());
  const auto waits = calls.of(GetParam().function, pair.probed.number("waiter"));
  EXPECT_LE(waits.size(), 1u);
  // A cancelled wait that slept is one blocked wait; a cancellation that was pending never slept.
  if (std::string(GetParam().way) != "pending") {
    EXPECT_EQ(waits.size() + calls.lost, 1u);
  }
}

std::vector<Cancelling> all_cancellings() {
  std::vector<Cancelling> all;
  for (const char* function : {"sem_wait", "sem_timedwait", "sem_clockwait", "pthread_cond_wait",
                               "pthread_cond_timedwait", "pthread_cond_clockwait"})
    for (const char* way : {"deferred", "pending", "disabled"}) all.push_back({function, way});
  all.push_back({"sem_wait", "async"});
  all.push_back({"pthread_cond_wait", "async"});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Threads, Cancelled, testing::ValuesIn(all_cancellings()),
                         [](const auto& each) { return std::string(each.param.function) + "_" + each.param.way; });

TEST(Threads, EndByPthreadExitBelowFramesWithDestructors) {
  const Pair pair({.program = "threads_pthread_exit"});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 2u + 1u + 1u + 3u);
}

TEST(Threads, WaitsInTheirDestructorsAreAllRecorded) {
  const Pair pair({.program = "threads_wait_while_ending"});
  expect_same(pair);
  EXPECT_EQ(static_cast<long long>(dump(pair.run()).of("sem_timedwait").size()), pair.probed.number("waits"));
}

TEST(Threads, DetachedOnesAreRecordedAndDoNotHoldUpTheEnd) {
  const Pair pair({.program = "threads_detached"});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 100u);
}

}  // namespace
}  // namespace hostprobe::test
