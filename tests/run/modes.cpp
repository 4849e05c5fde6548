// modes: what is not written to disk is counted all the same; what a trigger asks for is written, the moment before it
// included.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "answers.h"
#include "run_probed.h"
#include "staying.h"

namespace hostprobe::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> dump_files(const fs::path& run) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(run))
    if (entry.path().extension() == ".hpdump") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

nlohmann::json events_of(const nlohmann::json& answers, const std::string& kind) {
  nlohmann::json found = nlohmann::json::array();
  for (const auto& process : answers.at("processes"))
    for (const auto& event : process.at("events"))
      if (event.at("kind") == kind) found.push_back(event);
  return found;
}

class Mode : public testing::TestWithParam<Environment> {};
const Environment kMonitor = {{"HOSTPROBE_MODE", "monitor"}};
const Environment kFlight = {{"HOSTPROBE_MODE", "flight"}, {"HOSTPROBE_FLIGHT_MB", "1"}};
const Environment kTrace = {{"HOSTPROBE_MODE", "trace"}};
std::string mode_of(const testing::TestParamInfo<Environment>& each) { return each.param.at("HOSTPROBE_MODE"); }

TEST_P(Mode, CountsEveryWait) {
  Victim victim{.program = "counts_its_calls", .args = {"4", "60000", "100"}, .probe = GetParam()};
  victim.probe["HOSTPROBE_IO_US"] = "1000000000";
  const Pair pair(victim);
  expect_same(pair);
  const auto answers = report(pair.run());
  EXPECT_EQ(blocked_count(answers, "sem_timedwait"), 240000u);
  EXPECT_EQ(lost_count(answers), 0u);
}

INSTANTIATE_TEST_SUITE_P(Modes, Mode, testing::Values(kMonitor, kFlight, kTrace), mode_of);

// Three of a million records are written, all are counted, and the file stays small.
TEST(Monitor, WritesNoRecordHoweverLongItRuns) {
  Victim victim{.program = "counts_its_calls", .args = {"2", "200000", "0"}, .probe = kMonitor};
  const Pair pair(victim);
  EXPECT_TRUE(dump(pair.run()).calls.empty());
  std::uintmax_t bytes = 0;
  for (const fs::path& file : trace_files(pair.run())) bytes += fs::file_size(file);
  EXPECT_LT(bytes, 400u << 10);
}

TEST(Flight, TheSlowStepIsInWhatItTriggers) {
  ScratchFolder scratch;
  run_staying({.program = "stays", .args = {"slow"}, .probe = {{"HOSTPROBE_MODE", "flight"}}}, scratch, [&](pid_t pid) {
    await_status(pid, [](const nlohmann::json& status) { return status.at("triggers") != 0; });
    kill(pid, SIGKILL);
  });
  ASSERT_EQ(dump_files(scratch.run()).size(), 1u);
  EXPECT_EQ(fs::status(dump_files(scratch.run())[0]).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const auto steps = dump(scratch.run()).of("hostprobe_step");
  ASSERT_EQ(steps.size(), 11u);
  const auto answers = report(scratch.run());
  const auto triggers = events_of(answers, "trigger");
  ASSERT_EQ(triggers.size(), 1u);
  EXPECT_EQ(triggers[0].at("reason"), "slow_step");
  EXPECT_EQ(triggers[0].at("dump"), 1);
  EXPECT_GE(triggers[0].at("records"), 11);
  EXPECT_EQ(answers.at("steps").at("source"), "marks");
  EXPECT_EQ(answers.at("steps").at("count"), 11);
  EXPECT_EQ(lost_count(answers), 0u);
}

TEST(Flight, ASignalStormWritesOneDumpAndCountsTheRest) {
  ScratchFolder scratch;
  Victim victim{.program = "stays", .probe = {{"HOSTPROBE_MODE", "flight"}, {"HOSTPROBE_TRIGGER_SIGNAL", "USR2"}}};
  run_staying(victim, scratch, [&](pid_t pid) {
    for (int i = 0; i < 8; ++i) {
      kill(pid, SIGUSR2);
      usleep(300000);
    }
  });
  EXPECT_EQ(dump_files(scratch.run()).size(), 1u);
  std::uint64_t refused = 0;
  for (const auto& event : events_of(report(scratch.run()), "trigger"))
    if (event.at("dump").is_null()) refused += event.at("refused").get<std::uint64_t>();
  EXPECT_GE(refused, 3u);
  EXPECT_LE(refused, 7u);
}

TEST(Flight, ADamagedDumpIsToldAndHurtsNothingElse) {
  ScratchFolder scratch;
  run_staying({.program = "stays", .args = {"slow"}, .probe = {{"HOSTPROBE_MODE", "flight"}}}, scratch, [&](pid_t pid) {
    await_status(pid, [](const nlohmann::json& status) { return status.at("triggers") != 0; });
  });
  const auto before = report(scratch.run());
  ASSERT_EQ(dump_files(scratch.run()).size(), 1u);
  fs::resize_file(dump_files(scratch.run())[0], 5000);
  const auto after = report(scratch.run());
  EXPECT_EQ(blocked_count(after, "sem_timedwait"), blocked_count(before, "sem_timedwait"));
  EXPECT_EQ(lost_count(after), 0u);
  fs::remove(dump_files(scratch.run())[0]);
  EXPECT_EQ(blocked_count(report(scratch.run()), "sem_timedwait"), blocked_count(before, "sem_timedwait"));
}

}  // namespace
}  // namespace hostprobe::test
