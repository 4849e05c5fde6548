// Signals by name, settings that change while a process records, and what a step is compared with.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "probe/control/trigger_signal.h"
#include "probe/record/step_lengths.h"
#include "probe/runtime/options.h"

namespace hostprobe::probe {
namespace {

TEST(SignalNames, WithAndWithoutTheirPrefixAndAsNumbers) {
  for (const char* name : {"USR2", "SIGUSR2", "12"}) EXPECT_EQ(signal_number(name), SIGUSR2) << name;
  EXPECT_EQ(signal_number("none"), 0);
  EXPECT_EQ(signal_number("HUP"), SIGHUP);
  EXPECT_EQ(signal_number("RTMIN"), SIGRTMIN);
  EXPECT_EQ(signal_number("SIGRTMIN+3"), SIGRTMIN + 3);
  EXPECT_EQ(signal_number("RTMAX-2"), SIGRTMAX - 2);
  EXPECT_EQ(signal_number("64"), SIGRTMAX);
}

TEST(SignalNames, ThatAreNoneOrMustNotBeUsedAreRefused) {
  for (const char* name :
       {"",       "SIG",      "SIGSIGUSR2",  "usr2",     "USR2 ",   " 12",     "+12",  "0",    "32",
        "33",     "65",       "99999999999", "SEGV",     "11",      "SIGBUS",  "KILL", "STOP", "ABRT",
        "RTMIN+", "RTMIN+-1", "RTMIN+31",    "RTMAX-31", "RTMIN-1", "RTMAX+1", "none "})
    EXPECT_EQ(signal_number(name), -1) << name;
}

class SetOption : public testing::Test {
 protected:
  void SetUp() override { read_options(nullptr); }
  std::string refusal(const char* name, const char* value) {
    char why[256] = "";
    return set_option(name, value, why, sizeof why) ? "" : why;
  }
  std::string described(unsigned index) {
    char out[64] = "";
    return describe_option(index, out, sizeof out) ? out : "";
  }
};

TEST_F(SetOption, TakesWhatTheEnvironmentWouldTake) {
  EXPECT_EQ(refusal("stack_us", "0"), "");
  EXPECT_EQ(refusal("budget", "2.25"), "");
  EXPECT_EQ(g_options.stack_us, 0u);
  EXPECT_EQ(g_options.budget, 2250u);
}

TEST_F(SetOption, LeavesASettingAsItWasWhenTheValueIsBad) {
  const std::string why = refusal("stall_us", "1000");
  EXPECT_NE(why.find("stall_us=1000 cannot be used"), std::string::npos) << why;
  EXPECT_NE(why.find("1 to 100"), std::string::npos) << why;
  EXPECT_EQ(g_options.stall_us, 50u);
  EXPECT_NE(refusal("budget", "100.5").find("0 to 100"), std::string::npos);
}

TEST_F(SetOption, RefusesWhatOnlyTheStartCanSet) {
  for (const char* name : {"out", "mode", "target", "off", "buffer_mb", "flight_mb", "trigger_signal", "compress"})
    EXPECT_NE(refusal(name, "1").find("only be set at the start"), std::string::npos) << name;
  EXPECT_NE(refusal("", "1").find("is not a setting"), std::string::npos);
  EXPECT_NE(refusal("STACK_US", "1").find("is not a setting"), std::string::npos);
}

TEST_F(SetOption, DescribesEachThatCanBeSetAndWhatItSaysCanBeSet) {
  EXPECT_EQ(described(0), "stack_us=1000");
  unsigned count = 0;
  for (std::string line; !(line = described(count)).empty(); ++count) {
    const std::size_t equals = line.find('=');
    EXPECT_EQ(refusal(line.substr(0, equals).c_str(), line.substr(equals + 1).c_str()), "") << line;
  }
  EXPECT_EQ(count, 12u);
  EXPECT_EQ(described(11), "budget=0.5");
}

constexpr std::uint64_t kTwice = 200;  // HOSTPROBE_SLOW_STEP_PCT

// Steps of 12 to 13 ms, with what a schedule adds to some of them.
struct Job {
  StepLengths lengths{};
  std::uint64_t step = 0;

  std::uint64_t usual() const { return 12'000'000 + step * 7919 % 1'000'000; }
  bool take(std::uint64_t length) {
    const bool outlier = lengths.is_outlier(length, kTwice);
    lengths.add(length);
    ++step;
    return outlier;
  }
  // Evaluations each 20 steps and checkpoints each 150, each a third longer or shorter than others of its kind.
  unsigned outliers_in(std::uint64_t steps) {
    unsigned count = 0;
    for (const std::uint64_t end = step + steps; step < end;) {
      const std::uint64_t percent = 80 + step * 31 % 40;
      const std::uint64_t extra = step % 150 == 149 ? 9'000'000 * percent : step % 20 == 19 ? 750'000 * percent : 0;
      count += take(usual() + extra);
    }
    return count;
  }
};

TEST(Outlier, IsNoStepThatTheScheduleMakesSlowAgainAndAgain) {
  Job job;
  EXPECT_LE(job.outliers_in(900), 4u) << "twice for each of the two kinds";
  EXPECT_EQ(job.outliers_in(9000), 0u);
}

TEST(Outlier, IsAStepBetweenTheKindsAndOneBeyondThem) {
  Job job;
  job.outliers_in(905);
  for (const std::uint64_t length : {250'000'000ul, 5'000'000'000ul, 30'000'000ul}) EXPECT_TRUE(job.take(length));
}

TEST(Outlier, IsTheFirstSlowStepAndASecondLikeIt) {
  Job job;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(job.take(job.usual()));
  for (const bool outlier : {true, true, false, false}) EXPECT_EQ(job.take(90'000'000), outlier);
}

TEST(Outlier, DoesNotMakeAKindThatRecursForgotten) {
  Job job;
  job.outliers_in(905);
  for (std::uint64_t length = 2'700'000'000; length < 100'000'000'000'000; length *= 3) {
    EXPECT_TRUE(job.take(length));
    for (int usual = 0; usual < 31; ++usual) job.take(job.usual());
  }
  EXPECT_FALSE(job.take(87'000'000));
  EXPECT_FALSE(job.take(912'000'000));
}

TEST(Outlier, IsEachSlowStepWhereTheSettingAsksForEach) {
  Job job;
  for (int i = 0; i < 20; ++i) job.take(10);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(job.lengths.is_outlier(10, 100));
}

}  // namespace
}  // namespace hostprobe::probe
