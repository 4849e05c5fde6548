// queue_samples: the share of launches that found their stream empty, from a small sample of them, against what the program
// itself saw; and that asking disturbs nothing.
#include <gtest/gtest.h>

#include <algorithm>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

Victim queues(const std::string& how, const std::string& mode, const std::string& samples = "1000") {
  return {.program = "driver_queues",
          .args = {how, "3500"},  // the first two seconds are left alone
          .environment = {{"LD_LIBRARY_PATH", simnode_folder()}, {"SIMNODE_GPUS", "1"}, {"SIMNODE_KERNEL_US", "*=100"}},
          .probe = {{"HOSTPROBE_MODE", mode}, {"HOSTPROBE_GPU_SAMPLE", samples}, {"HOSTPROBE_BUDGET", "0"}}};
}

const nlohmann::json& queue_of(const nlohmann::json& answers) {
  return answers.at("processes").at(0).at("gpu").at("queue");
}

struct Case {
  const char* how;
  const char* mode;
};
void PrintTo(const Case& each, std::ostream* out) { *out << each.how << ' ' << each.mode; }

class QueueSamples : public testing::TestWithParam<Case> {};

// Within its interval and half of that again, so that chance is no failure.
TEST_P(QueueSamples, AgreeWithWhatTheProgramSaw) {
  const Pair pair(queues(GetParam().how, GetParam().mode));
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  const auto answers = report(pair.run());
  const auto& queue = queue_of(answers);
  const double truth =
      100.0 * static_cast<double>(pair.probed.number("empty")) / static_cast<double>(pair.probed.number("launches"));
  const double low = queue.at("low_pct"), high = queue.at("high_pct"), share = queue.at("share_pct");
  EXPECT_GE(queue.at("samples"), 3) << queue;
  EXPECT_GE(share, low);
  EXPECT_LE(share, high);
  EXPECT_GE(truth, low - (high - low) / 2) << queue;
  EXPECT_LE(truth, high + (high - low) / 2) << queue;
  EXPECT_EQ(lost_count(answers), 0u);
}
INSTANTIATE_TEST_SUITE_P(Gpu, QueueSamples,
                         testing::Values(Case{"full", "trace"}, Case{"empty", "trace"}, Case{"mixed", "trace"},
                                         Case{"mixed", "monitor"}, Case{"mixed", "flight"}),
                         [](const auto& each) { return std::string(each.param.how) + "_" + each.param.mode; });

// The program ends with an error if a call of ours spoils a capture, or gets an answer that is not its own.
TEST(QueueSampling, LeavesCapturesOfOtherThreadsWhole) {
  const Pair pair(queues("captures", "trace"));
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
}

TEST(QueueSampling, AsksNothingWhereItIsSwitchedOff) {
  const Pair pair(queues("empty", "trace", "0"));
  expect_same(pair);
  const auto answers = report(pair.run());
  const auto& gpu = answers.at("processes").at(0).at("gpu");
  EXPECT_TRUE(gpu.is_null() || gpu.at("queue").is_null()) << gpu;
  EXPECT_TRUE(dump(pair.run()).of("hostprobe_queue_sample").empty());
}

}  // namespace
}  // namespace hostprobe::test
