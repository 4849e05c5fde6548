// What `hostprobe doctor` says of machines and containers, most of which nobody has at hand: recorder/doctor.cpp, doctor_facts.cpp
#include "recorder/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "support/trace_file.h"

namespace hostprobe::kernel {
namespace {

using testing::HasSubstr;

MachineFacts good() {
  MachineFacts facts;
  facts.is_root = true;
  facts.perf_paranoid = 2;
  facts.cpus_allowed = facts.cpus_online = 8;
  facts.may_raise_priority = true;
  facts.has_pressure = true;
  facts.clock_source = "tsc";
  return facts;
}

Finding finding(const MachineFacts& facts, const std::string& name) {
  for (const Finding& one : judge(facts))
    if (one.name == name) return one;
  ADD_FAILURE() << name;
  return {};
}

TEST(Doctor, FindsAGoodMachineGood) {
  for (const Finding& one : judge(good())) {
    EXPECT_EQ(one.health, Health::kGood) << one.name << ": " << one.what;
    EXPECT_EQ(one.todo, "") << one.name;
    EXPECT_NE(one.what, "") << one.name;
    EXPECT_NE(one.why, "") << one.name;
  }
}

TEST(Doctor, SaysWhatToDoAboutWhateverIsNotGood) {
  MachineFacts facts;
  facts.has_library = false;
  facts.perf_error = EACCES;
  facts.perf_paranoid = 3;
  facts.seccomp = 2;
  facts.copy_error = EPERM;
  facts.ptrace_scope = 1;
  facts.segment_error = ENOSPC;
  facts.tracefs_problem = "recording takes root";
  facts.cpus_allowed = 1;
  facts.cpus_online = 8;
  facts.quota_cpus = 2.5;
  facts.quota_group = "/sys/fs/cgroup/job";
  std::size_t good_ones = 0;
  for (const Finding& one : judge(facts)) {
    good_ones += one.health == Health::kGood;
    EXPECT_EQ(one.health == Health::kGood, one.todo.empty()) << one.name;
  }
  EXPECT_EQ(good_ones, 1u) << "of types nothing depends on";
}

TEST(Doctor, TellsWhyPerfIsRefused) {
  const auto todo = [](int error, int paranoid) {
    MachineFacts facts = good();
    facts.perf_error = error;
    facts.perf_paranoid = paranoid;
    return finding(facts, "perf_events").todo;
  };
  EXPECT_THAT(todo(EACCES, 3), HasSubstr("perf_event_paranoid=2"));
  EXPECT_THAT(todo(EPERM, 2), HasSubstr("filter of system calls"));
  EXPECT_THAT(todo(kKilled, 4), HasSubstr("filter")) << "no setting helps there";
  EXPECT_THAT(todo(ENOSYS, kNotThere), HasSubstr("CONFIG_PERF_EVENTS"));
}

TEST(Doctor, TellsOfInstancesThatItRemoved) {
  MachineFacts facts = good();
  facts.swept = 2;
  EXPECT_THAT(finding(facts, "tracefs").what, HasSubstr("2 instances"));
}

TEST(Doctor, KnowsThatNiceDoesNothingBetweenSessions) {
  MachineFacts facts = good();
  facts.autogroup = 1;
  EXPECT_EQ(finding(facts, "nice").health, Health::kLimited);
  EXPECT_THAT(finding(facts, "nice").todo, HasSubstr("/proc/PID/autogroup"));
  facts.autogroup = 0;
  EXPECT_EQ(finding(facts, "nice").health, Health::kGood);
}

class Groups : public testing::Test {
 protected:
  void write(const std::string& folder, const std::string& file, const std::string& text) {
    const std::filesystem::path path = root_.path() / folder;
    std::filesystem::create_directories(path);
    std::ofstream(path / file) << text << "\n";
  }
  double tightest(const std::string& folder) { return tightest_quota(root_.path().string(), folder, group_); }
  test::TestFolder root_;
  std::string group_;
};

TEST_F(Groups, TheTightestOfAllLevelsCounts) {
  write("pod", "cpu.max", "150000 100000");
  write("pod/job", "cpu.max", "max 100000");
  write("pod/job/inner", "cpu.max", "400000 100000");
  EXPECT_DOUBLE_EQ(tightest("/pod/job/inner"), 1.5);
  EXPECT_THAT(group_, testing::EndsWith("/pod"));
  EXPECT_DOUBLE_EQ(tightest("/elsewhere"), 0);
}

TEST_F(Groups, OfVersionOneHaveTwoFiles) {
  write("job", "cpu.cfs_quota_us", "50000");
  write("job", "cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(tightest("/job"), 0.5);
  write("job", "cpu.cfs_quota_us", "-1");
  EXPECT_DOUBLE_EQ(tightest("/job"), 0);
}

TEST_F(Groups, WithoutSenseHaveNoQuota) {
  for (const char* text : {"", "max", "0 0", "-5 100000", "x y", "100000"}) {
    write("job", "cpu.max", text);
    EXPECT_DOUBLE_EQ(tightest("/job"), 0) << text;
  }
  EXPECT_DOUBLE_EQ(tightest(""), 0);
  EXPECT_DOUBLE_EQ(tightest("/../.."), 0) << "a group above what can be seen";
}

}  // namespace
}  // namespace hostprobe::kernel
