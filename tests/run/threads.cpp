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

bool chore_is_recorded(const Pair& pair) {
  const auto by_main = dump(pair.run()).of("pthread_create", pair.probed.number("main"));
  return std::any_of(by_main.begin(), by_main.end(),
                     [](const Call& call) { return call.text("type").find("ChoreOfTheVictim") != std::string::npos; });
}

// The start routine of a std::thread lies in libstdc++ and says nothing; the type of what it runs does.
TEST_F(NamedThreads, OfTheStandardLibraryHaveTheTypeTheyRunRecorded) { EXPECT_TRUE(chore_is_recorded(pair_)); }

TEST(Threads, OfAProgramWithGapsBetweenItsSegmentsHaveTheTypeTheyRunRecorded) {
  const Pair pair({.program = "threads_named_apart"});
  expect_same(pair);
  EXPECT_TRUE(chore_is_recorded(pair));
}

TEST(Threads, OfOpenmpAloneMakeATrace) {
  const Pair pair({.program = "shares_out", .args = {"4", "600"}});
  expect_same(pair);
  const auto answers = report(pair.run());
  std::size_t openmp = 0;
  for (const auto& thread : answers.at("processes").at(0).at("threads")) openmp += thread.at("role") == "openmp";
  EXPECT_EQ(openmp, 3u) << answers.dump(1);
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

class MergedThreads : public testing::TestWithParam<const char*> {
 protected:
  Victim victim(int batches) const {
    return {.program = "threads_many",
            .args = {std::to_string(batches), "10"},
            .probe = {{"HOSTPROBE_MODE", GetParam()}, {"HOSTPROBE_ENDED_THREADS", "100"}}};
  }
};

TEST_P(MergedThreads, AreCountedTogetherToTheLastCall) {
  const Pair pair(victim(300));
  expect_same(pair);
  const auto answers = report(pair.run());
  EXPECT_EQ(blocked_count(answers, "sem_timedwait"), 3000u);
  EXPECT_EQ(lost_count(answers), 0u);
  std::uint64_t merged = 0, single = 0, waits = 0;
  for (const auto& thread : answers.at("processes")[0].at("threads")) {
    merged += thread.value("merged", 0u);
    single += !thread.contains("merged") && thread.at("cpu_ms").is_number() && thread.at("role") == "other";
    if (thread.contains("merged")) {
      EXPECT_LE(thread.at("wait_ms"), thread.at("wall_ms"));
    }
    waits += thread.at("records").get<std::uint64_t>();
  }
  EXPECT_EQ(merged + single, 3000u);
  EXPECT_LE(single, 120u);
  EXPECT_EQ(waits, answers.at("processes")[0].at("records"));
}

// Flight's last seconds are bounded by another setting, and are left out here.
TEST_P(MergedThreads, LeaveTheFileItsSize) {
  std::uintmax_t bytes[2] = {};
  for (int i = 0; i < 2; ++i) {
    Victim many = victim(i == 0 ? 100 : 400);
    many.probe["HOSTPROBE_FLIGHT_MB"] = "1";
    many.probe["HOSTPROBE_SCHED"] = "off";  // switches end with what their buffers hold: 100 threads do not fill them
    const Pair pair(many);
    for (const auto& file : trace_files(pair.run())) bytes[i] += std::filesystem::file_size(file);
  }
  EXPECT_LT(bytes[1], bytes[0] + 3000 * 8);
}
INSTANTIATE_TEST_SUITE_P(Threads, MergedThreads, testing::Values("monitor", "flight"),
                         [](const auto& each) { return std::string(each.param); });

class AtOnce : public testing::TestWithParam<const char*> {};

// The table of threads holds 4096, some of them ours.
TEST_P(AtOnce, ThreeThousandThreadsAreAllRecorded) {
  const Pair pair({.program = "threads_at_once",
                   .args = {"3000"},
                   .probe = {{"HOSTPROBE_BUFFER_MB", "64"}, {"HOSTPROBE_MODE", GetParam()}},
                   .limit = std::chrono::seconds(100)});
  if (!pair.bare.outcome.exited_with(0)) GTEST_SKIP() << "this machine has no room for 3000 threads";
  expect_same(pair);
  const auto answers = report(pair.run());
  EXPECT_EQ(static_cast<long long>(blocked_count(answers, "sem_timedwait")), pair.probed.number("records"));
  EXPECT_EQ(lost_count(answers), 0u);
}
INSTANTIATE_TEST_SUITE_P(Threads, AtOnce, testing::Values("monitor", "flight", "trace"),
                         [](const auto& each) { return std::string(each.param); });

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

class ThreadLocalStorage : public testing::TestWithParam<int> {};

// What it takes out of a thread's stack it takes out of ours as well.
TEST_P(ThreadLocalStorage, LeavesOurThreadAStack) {
  const Pair pair({.program = "thread_locals_" + std::to_string(GetParam()), .probe = {{"HOSTPROBE_MODE", "trace"}}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(1)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 8u);
}
INSTANTIATE_TEST_SUITE_P(Threads, ThreadLocalStorage, testing::Values(240, 246, 247, 248, 249, 300, 1024, 8192),
                         testing::PrintToStringParamName());

class EnteredNamespace : public testing::TestWithParam<const char*> {};

// Some are only for a process of one thread, and ours must not count.
TEST_P(EnteredNamespace, IsOpenOrShutAsWithoutUs) {
  const Pair pair({.program = "enters_namespaces", .args = {GetParam()}, .probe = {{"HOSTPROBE_MODE", "trace"}}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  const Dump calls = dump(pair.run());
  EXPECT_EQ(calls.of("sem_timedwait").size() + calls.lost, 3u * 5 + 3);
}
INSTANTIATE_TEST_SUITE_P(Threads, EnteredNamespace,
                         testing::Values("unshare_user", "syscall_unshare_user", "unshare_memory", "unshare_nonsense",
                                         "unshare_files", "setns_user", "setns_mount", "syscall_setns_mount",
                                         "setns_nowhere"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace hostprobe::test
