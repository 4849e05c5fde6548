// batch_launch: programs of the driver API do the same with the fix and without it, in every stream and in memory.
//
// HOSTPROBE_TEST_PROGRAMS_TO_RUN=12000: so many random programs instead of a part of them.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "answers.h"
#include "run_probed.h"
#include "staying.h"

namespace hostprobe::test {
namespace {
namespace fs = std::filesystem;

Victim batched(const std::string& program, std::vector<std::string> args, const std::string& launch_us = "1") {
  Victim victim{.program = program,
                .args = std::move(args),
                .environment = {{"LD_LIBRARY_PATH", simnode_folder()},
                                {"SIMNODE_GPUS", "2"},
                                {"SIMNODE_KERNEL_US", "*=0.2"},
                                {"SIMNODE_LAUNCH_US", launch_us},
                                {"SIMNODE_COUNTS", "counts"}},
                .probe = {{"HOSTPROBE_FIX", "batch_launch"}, {"BATCHED", "1"}}};
  victim.limit = std::chrono::seconds(200);
  return victim;
}

bool has_two_cpus() {
  cpu_set_t cpus;
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) >= 2;
}
#define NEEDS_TWO_CPUS \
  if (!has_two_cpus()) GTEST_SKIP() << "the fix wants a CPU for the launching thread"

std::vector<std::string> fix_events(const fs::path& run_folder) {
  std::vector<std::string> texts;
  const auto answers = report(run_folder);
  for (const auto& process : answers.at("processes"))
    for (const auto& event : process.at("events"))
      if (event.at("kind") == "fix") texts.push_back(event.at("text"));
  return texts;
}

// How many launches went through the queue, as the last event says.
long long queued(const fs::path& run_folder) {
  const auto texts = fix_events(run_folder);
  const std::string last = texts.empty() ? "" : texts.back();
  const std::string start = "batch_launch to the end: ";
  EXPECT_TRUE(last.starts_with(start)) << last;
  return last.starts_with(start) ? std::stoll(last.substr(start.size())) : 0;
}

// How often the driver was entered to launch, by function.
std::map<std::string, long long> driver_launches(const OneRun& one_run) {
  std::map<std::string, long long> counts;
  for (const auto& entry : fs::directory_iterator(one_run.folder / "counts")) {
    const auto file = nlohmann::json::parse(std::ifstream(entry.path()));
    for (const auto& [name, count] : file.items())
      if (name.find("Launch") != std::string::npos && count != 0) counts[name] += count.get<long long>();
  }
  return counts;
}

struct Part {
  int number;
  const char* launch_us;
};
class RandomPrograms : public testing::TestWithParam<Part> {};

TEST_P(RandomPrograms, DoTheSame) {
  NEEDS_TWO_CPUS;
  const char* wanted = getenv("HOSTPROBE_TEST_PROGRAMS_TO_RUN");
  const int programs = (wanted == nullptr ? 1200 : atoi(wanted)) / 4;
  const Pair pair(batched("driver_random", {std::to_string(GetParam().number * programs), std::to_string(programs)},
                          GetParam().launch_us));
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_GT(queued(pair.run()), programs) << "launches that really waited";
  auto expected = driver_launches(pair.bare);
  expected["cuLaunchKernel"] += pair.probed.number("awaited");
  EXPECT_EQ(driver_launches(pair.probed), expected)
      << "each launch reaches the driver once, by the function it was made by";
  const auto by_function = launches_by_function(report(pair.run()));
  EXPECT_EQ(static_cast<long long>(by_function.at("cuLaunchKernel")), expected["cuLaunchKernel"]);
  EXPECT_EQ(static_cast<long long>(by_function.at("cuLaunchKernelEx")), expected["cuLaunchKernelEx"]);
  EXPECT_EQ(lost_count(report(pair.run())), 0u);
}
INSTANTIATE_TEST_SUITE_P(BatchLaunch, RandomPrograms,
                         testing::Values(Part{0, "0"}, Part{1, "1"}, Part{2, "2"}, Part{3, "5"}),
                         [](const auto& each) { return "part_" + std::to_string(each.param.number); });

// ---- the end of a process -----------------------------------------------------------------------------------------------

class LeavingWithLaunches : public testing::TestWithParam<const char*> {};

TEST_P(LeavingWithLaunches, LosesNoLaunch) {
  NEEDS_TWO_CPUS;
  const Pair pair(batched("driver_leaves", {GetParam()}));
  expect_same(pair);
  auto launches = driver_launches(pair.probed);
  EXPECT_EQ(launches["cuLaunchKernel"], driver_launches(pair.bare)["cuLaunchKernel"] + pair.probed.number("awaited"));
}
INSTANTIATE_TEST_SUITE_P(BatchLaunch, LeavingWithLaunches,
                         testing::Values("return", "exit", "_exit", "quick_exit", "exec", "killed", "forks"),
                         [](const auto& each) { return std::string(each.param); });

// ---- errors ---------------------------------------------------------------------------------------------------------------

TEST(BatchLaunch, ErrorsComeOnceWithTheNextCallThatMayTell) {
  NEEDS_TWO_CPUS;
  const Pair pair(batched("driver_leaves", {"late_errors"}));
  expect_same(pair);
  for (const char* call : {"context", "stream", "event", "copy"}) {
    const auto bare = pair.bare.told(call), probed = pair.probed.told(call);
    EXPECT_NE(bare.at(0), "0") << call << ": at once";
    EXPECT_EQ(bare.at(1), "0");
    // Where the launcher slept the launch went to the driver at once.
    const bool late = probed.at(0) == "0";
    EXPECT_EQ(probed.at(late ? 1 : 0), bare.at(0)) << call;
    EXPECT_EQ(probed.at(late ? 0 : 1), "0") << call;
    EXPECT_EQ(probed.at(2), "0") << call << ": told once";
  }
}

// ---- on and off -----------------------------------------------------------------------------------------------------------

bool has_launcher(pid_t pid) {
  std::error_code gone;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    if (name == "hostprobe-queue") return true;
  }
  return false;
}

bool await_launcher(pid_t pid, bool there) {
  for (int i = 0; i < 1000 && has_launcher(pid) != there; ++i) usleep(20000);
  return has_launcher(pid) == there;
}

TEST(BatchLaunch, ComesAndGoesWhileThreadsLaunch) {
  NEEDS_TWO_CPUS;
  Victim victim = batched("driver_random", {"repeat", "40"});
  victim.probe = {};
  const ScratchFolder scratch;
  constexpr int kTimes = 5;
  const OneRun probed = run_staying(victim, scratch, [](pid_t pid) {
    for (int i = 0; i < kTimes; ++i)
      for (const char* verb : {"on", "off"}) {
        EXPECT_TRUE(ctl(pid, {"fix", verb, "batch_launch"}).exited_with(0)) << verb;
        EXPECT_TRUE(await_launcher(pid, verb[1] == 'n')) << verb << ", " << i;
      }
  });
  EXPECT_EQ(probed.outcome.out, "done\n");
  const auto texts = fix_events(scratch.run());
  EXPECT_EQ(texts.size(), 2u * kTimes) << testing::PrintToString(texts);
}

// ---- where it stands back ---------------------------------------------------------------------------------------------------

TEST(BatchLaunch, StandsBackWhereThereIsOneCpu) {
  Victim victim = batched("driver_random", {"0", "40"});
  victim.probe.erase("BATCHED");
  victim.before_exec = [] {
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  };
  const Pair pair(victim);
  expect_same(pair);
  const auto texts = fix_events(pair.run());
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_TRUE(texts[0].starts_with("batch_launch stands back: the process may use one CPU only")) << texts[0];
  EXPECT_EQ(driver_launches(pair.probed), driver_launches(pair.bare));
}

}  // namespace
}  // namespace hostprobe::test
