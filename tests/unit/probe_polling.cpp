// probe/fixes/polling: a wait that is polled takes the semaphore as sem_trywait does, or leaves everything as it was.
#include <gtest/gtest.h>
#include <semaphore.h>

#include <cerrno>
#include <thread>

#include "probe/fixes/placement/idle_cpus.h"
#include "probe/fixes/placement/machine.h"
#include "probe/fixes/waiting/polling.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kLong = 2000000000;  // ticks

class Polling : public testing::Test {
 protected:
  Polling() {
    forget_process();
    sem_init(&sem_, 0, 0);
  }
  int value() {
    int value = -1;
    sem_getvalue(&sem_, &value);
    return value;
  }
  sem_t sem_;
};

TEST_F(Polling, NobodyPollsUnlessAllowed) {
  sem_post(&sem_);
  EXPECT_FALSE(taken_by_polling(&sem_, CLOCK_REALTIME, nullptr));
  let_poll(4, 0);
  EXPECT_FALSE(taken_by_polling(&sem_, CLOCK_REALTIME, nullptr));
  EXPECT_EQ(value(), 1);
  EXPECT_EQ(polled_so_far().tried, 0u);
}

TEST_F(Polling, TakesWhatIsPostedMeanwhile) {
  // Where the thread loses its CPU while it polls, it gives up: then again.
  std::thread posts([this] { sem_post(&sem_); });
  bool taken = false;
  for (int i = 0; i < 1000000 && !taken; ++i) {
    let_poll(1, kLong);
    errno = 7;
    taken = taken_by_polling(&sem_, CLOCK_REALTIME, nullptr);
    EXPECT_EQ(errno, 7);
  }
  posts.join();
  EXPECT_TRUE(taken);
  EXPECT_EQ(value(), 0);
  EXPECT_EQ(polled_so_far().taken, 1u);
  EXPECT_EQ(polling_now(), 0u);
}

TEST_F(Polling, GivesUpInTheEndAndKeepsErrno) {
  let_poll(1, 1000);
  errno = 7;
  EXPECT_FALSE(taken_by_polling(&sem_, CLOCK_REALTIME, nullptr));
  EXPECT_EQ(errno, 7);
  EXPECT_EQ(polled_so_far().taken, 0u);
  EXPECT_EQ(polling_now(), 0u);
}

TEST_F(Polling, NotBeyondALimit) {
  sem_post(&sem_);
  let_poll(1, kLong);
  const timespec past{0, 0};
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  EXPECT_FALSE(taken_by_polling(&sem_, CLOCK_REALTIME, &past));
  EXPECT_FALSE(taken_by_polling(&sem_, CLOCK_MONOTONIC, &now));
  EXPECT_EQ(value(), 1);
  now.tv_sec += 100;
  EXPECT_TRUE(taken_by_polling(&sem_, CLOCK_MONOTONIC, &now));
}

TEST_F(Polling, NotWithALimitThatTheCallRefuses) {
  sem_post(&sem_);
  let_poll(1, kLong);
  const timespec far{4000000000, 0}, below{4000000000, -1}, above{4000000000, 1000000000};
  EXPECT_FALSE(taken_by_polling(&sem_, CLOCK_REALTIME, &below));
  EXPECT_FALSE(taken_by_polling(&sem_, CLOCK_MONOTONIC, &above));
  EXPECT_FALSE(taken_by_polling(&sem_, CLOCK_PROCESS_CPUTIME_ID, &far));
  EXPECT_FALSE(taken_by_polling(&sem_, -1, &far));
  EXPECT_EQ(value(), 1);
  EXPECT_TRUE(taken_by_polling(&sem_, CLOCK_REALTIME, &far));
}

TEST_F(Polling, SeldomWhereItDoesNotHelp) {
  constexpr std::uint64_t kWaits = 3200;
  for (std::uint64_t i = 0; i < kWaits; ++i) {
    let_poll(1, 100);
    EXPECT_FALSE(taken_by_polling(&sem_, CLOCK_REALTIME, nullptr));
  }
  EXPECT_LE(polled_so_far().tried, kWaits / 32 + 16);
  EXPECT_GE(polled_so_far().tried, kWaits / 32);
}

TEST_F(Polling, OfASemaphoreThatWaitsShortlyAgainAfterAWhile) {
  for (int i = 0; i < 100; ++i) {
    let_poll(1, 100);
    taken_by_polling(&sem_, CLOCK_REALTIME, nullptr);
  }
  unsigned taken = 0;
  for (int i = 0; i < 1000; ++i) {
    let_poll(1, kLong);
    sem_post(&sem_);
    if (taken_by_polling(&sem_, CLOCK_REALTIME, nullptr)) ++taken;
    sem_trywait(&sem_);
  }
  EXPECT_GE(taken, 500u);
}

TEST(FreeCpus, AreThoseThatNobodyWants) {
  EXPECT_EQ(free_cpus("0.50 0.40 0.30 3/120 4711\n", 8, 1), 6u);
  EXPECT_EQ(free_cpus("0.50 0.40 0.30 3/120 4711\n", 8, 3), 8u);
  EXPECT_EQ(free_cpus("0.50 0.40 0.30 3/120 4711\n", 8, 5), 8u);
  EXPECT_EQ(free_cpus("0.50 0.40 0.30 30/120 4711\n", 8, 1), 0u);
  EXPECT_EQ(free_cpus("9.00 9.00 9.00 9/9 1", 8, 1), 0u);
  for (const char* bad : {"", "nonsense", "/", "1.0 /5"}) EXPECT_EQ(free_cpus(bad, 8, 1), 0u) << bad;
}

constexpr char kStat[] =
    "cpu  1 0 300 5300 200 10 20 30 0 0\n"
    "cpu0 600 0 300 5000 100 0 0 0 0 0\n"
    "cpu1 100 0 0 300 100 10 20 30 0 0\n"
    "cpu17 100 0 0 300 100 10 20 30 0 0\n"
    "intr 5 6 7\n";

TEST(IdleCpus, AreReadOfThoseAskedFor) {
  CpuSet cpus = only(1);
  cpus.add(17);
  cpus.add(99);
  CpuTimes times{};
  ASSERT_TRUE(parse_cpu_times(kStat, cpus, times));
  EXPECT_EQ(times.cpus, 2u);
  EXPECT_EQ(times.idle, 800u);
  EXPECT_EQ(times.all, 1120u);
}

TEST(IdleCpus, AreNotReadFromWhatIsCutOrNonsense) {
  CpuTimes times{};
  const std::string cut(kStat, strstr(kStat, "cpu17") - kStat + 20);
  EXPECT_FALSE(parse_cpu_times(cut.c_str(), only(17), times));
  EXPECT_TRUE(parse_cpu_times(cut.c_str(), only(1), times));
  for (const char* bad :
       {"", "cpu", "cpu1\n", "cpu1 2 3\n", "cpu1 a b c d e f g h\n", "cpu99999999999 1 2 3 4 5 6 7 8\n"})
    EXPECT_FALSE(parse_cpu_times(bad, only(1), times)) << bad;
}

TEST(IdleCpus, AreThoseThatHadLittleToDo) {
  const CpuTimes before{1000, 5000, 2};
  const auto of = [&](std::uint64_t idle, std::uint64_t ours) {
    return idle_cpus(before, {1000 + idle, 5050, 2}, ours);  // 25 ticks of each CPU
  };
  EXPECT_EQ(of(50, 0), 2u);
  EXPECT_EQ(of(43, 0), 2u);
  EXPECT_EQ(of(42, 0), 1u);
  EXPECT_EQ(of(18, 0), 1u);
  EXPECT_EQ(of(17, 0), 0u);
  EXPECT_EQ(of(0, 0), 0u);
  EXPECT_EQ(of(3, 20), 1u) << "who polls takes it from nobody";
  EXPECT_EQ(of(50, 50), 2u) << "never more than there are";
}

TEST(IdleCpus, AreNoneWhereTheLooksDoNotFit) {
  EXPECT_EQ(idle_cpus({}, {100, 100, 2}, 0), 0u);
  EXPECT_EQ(idle_cpus({100, 500, 2}, {100, 500, 2}, 0), 0u);
  EXPECT_EQ(idle_cpus({100, 500, 2}, {200, 600, 1}, 0), 0u);
  EXPECT_EQ(idle_cpus({100, 500, 2}, {50, 600, 2}, 0), 0u);
}

TEST(Autogroup, IsReadFromItsLine) {
  int group = 0, nice = 0;
  EXPECT_TRUE(parse_autogroup("/autogroup-4711 nice -5\n", group, nice));
  EXPECT_EQ(group, 4711);
  EXPECT_EQ(nice, -5);
  for (const char* bad : {"", "\n", "/autogroup-", "/autogroup-1 nice"})
    EXPECT_FALSE(parse_autogroup(bad, group, nice)) << bad;
}

}  // namespace
}  // namespace hostprobe::probe
