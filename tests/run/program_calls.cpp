// program_calls: what a program asks of hostprobe itself, through include/hostprobe/hostprobe.h.
#include <gtest/gtest.h>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

using Words = std::vector<std::string>;

class ProgramCalls : public testing::TestWithParam<const char*> {
 protected:
  Pair pair_{{.program = GetParam()}};
};

TEST_P(ProgramCalls, AreNothingWithoutTheProbe) {
  EXPECT_EQ(pair_.bare.outcome.out, "errno 77\n");
  for (const Words& line : pair_.bare.truth()) {
    for (std::size_t i = 1; i < line.size(); i += 2) EXPECT_EQ(line[i], "0") << line[0];
  }
}

TEST_P(ProgramCalls, SayWhatTheyDid) {
  expect_same(pair_);
  std::string said;
  for (const Words& line : pair_.probed.truth()) {
    for (const std::string& word : line) said += word + " ";
  }
  std::string steps;
  for (int i = 0; i < 10; ++i) steps += "step 1 ";
  EXPECT_EQ(said, "active 1 first 0 " + steps +
                      "trigger 1 stop 1 again 1 paused 0 unseen 0 start 1 again 1 resumed 1 " + "afresh 0 last 1 ");
}

TEST_P(ProgramCalls, LeaveARecordPerStepFromTheEndOfTheStepBefore) {
  const std::vector<Call> steps = dump(pair_.run()).of("hostprobe_step");
  ASSERT_EQ(steps.size(), 11u);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::uint64_t number = i == 10 ? UINT64_MAX : 1001 + i;
    EXPECT_EQ(steps[i].args.at("number").get<std::uint64_t>(), number);
    EXPECT_NE(steps[i].text("site").find("calls_hostprobe"), std::string::npos) << steps[i].args.dump();
    EXPECT_GE(steps[i].duration_ns, 1900000) << "it slept for 2 ms";
    // One clock reading ends a step and begins the next; the reader rounds each of the two to nanoseconds.
    if (i == 0 || i == 10) continue;
    EXPECT_NEAR(static_cast<double>(steps[i].begin_ns),
                static_cast<double>(steps[i - 1].begin_ns + steps[i - 1].duration_ns), 2);
  }
}

TEST_P(ProgramCalls, LeaveNothingOfWhatHappensDuringAPause) {
  EXPECT_EQ(dump(pair_.run()).of("nanosleep").size(), 11u) << "ten steps, none of the pause, one behind it";
  EXPECT_EQ(lost_count(report(pair_.run())), 0u);
}
INSTANTIATE_TEST_SUITE_P(Programs, ProgramCalls, testing::Values("calls_hostprobe", "calls_hostprobe_fixed"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace hostprobe::test
