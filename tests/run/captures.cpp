// captures: launches that a stream capture takes run nothing, and each launch of a graph runs what is in it. Held against what the
// program knows and what the simulated device ran.
#include <gtest/gtest.h>

#include <sstream>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

Victim captures(const std::string& mode) {
  return {.program = "driver_captures",
          .environment = {{"LD_LIBRARY_PATH", simnode_folder()}, {"SIMNODE_GPUS", "1"}, {"SIMNODE_COUNTS", "counts"}},
          .probe = {{"HOSTPROBE_MODE", mode}, {"HOSTPROBE_BUDGET", "0"}, kAccountInRun}};
}

class CapturesInMode : public testing::TestWithParam<const char*> {};

TEST_P(CapturesInMode, KernelsAreThoseThatRan) {
  const Pair pair(captures(GetParam()));
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  const auto answers = report(pair.run());
  const auto& process = answers.at("processes").at(0);
  const auto& launches = process.at("launches");
  EXPECT_EQ(lost_count(answers), 0u);
  EXPECT_EQ(launches.at("kernels"), pair.probed.number("kernels"));
  const auto ran = report_with_account(pair.run()).at("processes").at(0).at("gpu");
  EXPECT_EQ(launches.at("kernels"), ran.at("kernels"));
  EXPECT_EQ(launches.at("captured"), pair.probed.number("captured"));
}
INSTANTIATE_TEST_SUITE_P(Gpu, CapturesInMode, testing::Values("trace", "flight", "monitor"),
                         [](const auto& each) { return std::string(each.param); });

// Whether a capture took it, for each launch of a kernel that did not fail: by the kernel's name.
std::vector<std::pair<std::string, bool>> kernel_launches(const std::filesystem::path& run_folder) {
  Launch dump;
  dump.command = {probe_command(), "dump", run_folder, "--json"};
  std::istringstream lines(run(dump).out);
  std::vector<std::pair<std::string, bool>> launches;
  for (std::string line; std::getline(lines, line);) {
    const auto call = nlohmann::json::parse(line);
    const std::string function = call.value("function", "");
    if (!function.starts_with("cuLaunchKernel") || call.value("failed", false)) continue;
    launches.emplace_back(call.at("args").at("kernel"), call.value("captured", false));
  }
  return launches;
}

TEST(Captures, TakeTheLaunchesOfTheirStreamsAndNoOthers) {
  const Pair pair(captures("trace"));
  expect_same(pair);
  long long taken = 0;
  for (const auto& [kernel, captured] : kernel_launches(pair.run())) {
    EXPECT_EQ(captured, kernel == "taken") << kernel;
    taken += captured;
  }
  EXPECT_EQ(taken + 1, pair.probed.number("captured")) << "all but a callback";
}

}  // namespace
}  // namespace hostprobe::test
