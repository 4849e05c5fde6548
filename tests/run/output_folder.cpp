// output_folder: the run folder that cannot be written, is no folder, is full, goes away, or moves out of reach; and
// what a good one looks like: files 0600, nothing of an earlier job overwritten.
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {
namespace fs = std::filesystem;

// One message that names the place; no trace; the program as it was.
void expect_said_once(const Pair& pair, const std::string& place) {
  expect_same(pair, 1);
  const auto messages = probe_messages(pair.probed.outcome.err);
  ASSERT_EQ(messages.size(), 1u) << pair.probed.outcome.err;
  EXPECT_NE(messages[0].find(place), std::string::npos) << messages[0];
}

TEST(OutputFolder, BelowAFileIsSaidOnce) {
  const Pair pair({.program = "works", .probe = {{"HOSTPROBE_OUT", "/dev/null/run"}}});
  expect_said_once(pair, "/dev/null/run");
}

TEST(OutputFolder, WhereNoneCanBeMadeIsSaidOnce) {
  const Pair pair({.program = "works", .probe = {{"HOSTPROBE_OUT", "/proc/hostprobe-run"}}});
  expect_said_once(pair, "/proc/hostprobe-run");
}

TEST(OutputFolder, ThatIsAFileIsSaidOnceAndTheFileIsLeftAlone) {
  ScratchFolder scratch;
  std::ofstream(scratch.path() / "file") << "precious";
  const Pair pair({.program = "works", .probe = {{"HOSTPROBE_OUT", scratch.path() / "file"}}});
  expect_said_once(pair, scratch.path() / "file");
  std::string text;
  std::ifstream(scratch.path() / "file") >> text;
  EXPECT_EQ(text, "precious");
}

TEST(OutputFolder, ThatMayNotBeWrittenIsSaidOnce) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody who may not write there";
  ScratchFolder scratch;
  fs::create_directory(scratch.run());
  fs::permissions(scratch.path(), fs::perms(0755));
  const auto become_nobody = [] {
    if (setgroups(0, nullptr) != 0 || setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
      _exit(124);
  };
  const Pair pair({.program = "works", .probe = {{"HOSTPROBE_OUT", scratch.run()}}, .before_exec = become_nobody});
  expect_said_once(pair, scratch.run());
  EXPECT_TRUE(trace_files(scratch.run()).empty());
}

TEST(OutputFolder, WithATooLongNameIsSaidOnce) {
  const Pair pair({.program = "works", .probe = {{"HOSTPROBE_OUT", "/tmp/" + std::string(5000, 'x')}}});
  expect_same(pair, 1);
  EXPECT_EQ(probe_messages(pair.probed.outcome.err).size(), 1u) << pair.probed.outcome.err;
}

class FullFileSystem : public testing::TestWithParam<const char*> {};

TEST_P(FullFileSystem, IsSaidOnceAndTheLossIsCounted) {
  ScratchFolder scratch;
  fs::create_directory(scratch.run());
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", scratch.run().c_str(), "tmpfs", 0, GetParam()) != 0)
    GTEST_SKIP() << "this machine lets nobody mount a small file system";
  const Pair pair(
      {.program = "works",
       .args = {"4000"},
       .probe = {{"HOSTPROBE_OUT", scratch.run()}, {"HOSTPROBE_COMPRESS", "none"}}});  // or all of them would fit
  expect_same(pair, 1);
  EXPECT_EQ(probe_messages(pair.probed.outcome.err).size(), 1u) << pair.probed.outcome.err;
  if (!trace_files(scratch.run()).empty()) {
    const std::uint64_t lost = lost_count(report(scratch.run()));
    EXPECT_GT(lost, 0u);
    EXPECT_GE(dump(scratch.run()).of("sem_timedwait").size() + lost, 8000u);
  }
  umount2(scratch.run().c_str(), MNT_DETACH);
}
INSTANTIATE_TEST_SUITE_P(OutputFolder, FullFileSystem,
                         testing::Values("size=4k", "size=16k", "size=128k", "nr_inodes=1"), [](const auto& each) {
                           std::string name = each.param;
                           name[name.find('=')] = '_';
                           return name;
                         });

class MovedGround : public testing::TestWithParam<const char*> {};

TEST_P(MovedGround, LeavesTheProgramAsItWasAndKeepsOrCountsEveryWait) {
  const std::string way = GetParam();
  if (way == "chroot" && geteuid() != 0) GTEST_SKIP() << "chroot needs root";
  const Pair pair({.program = "moves_its_root", .args = {way}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair, 1);
  if (way == "remove") {  // nothing is left to be read, and nothing may be left behind
    EXPECT_TRUE(orphaned_segments({pair.probed.outcome.pid}).empty());
    return;
  }
  const Dump calls = dump(pair.run());
  EXPECT_GE(calls.of("sem_timedwait").size() + calls.lost, 2200u);
}
INSTANTIATE_TEST_SUITE_P(OutputFolder, MovedGround,
                         testing::Values("chroot", "chdir", "chdir-first", "umask-none", "umask-all", "remove"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

struct Replacement {
  const char* thing;
  const char* threads;
};
void PrintTo(const Replacement& replacement, std::ostream* out) { *out << replacement.thing; }

class ReplacedTrace : public testing::TestWithParam<Replacement> {};

// Whatever lies where the trace was is neither written to nor waited for.
TEST_P(ReplacedTrace, IsLeftAlone) {
  const Replacement& replacement = GetParam();
  const bool second_name = replacement.thing == std::string("second_name");
  const Pair pair({.program = "replaces_its_trace",
                   .args = {replacement.thing, replacement.threads},
                   .probe = {{"HOSTPROBE_MODE", "trace"}}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(4)) << pair.bare.outcome.describe();
  expect_same(pair, 1);
  const std::string path = pair.probed.told("path").at(0);
  if (!second_name) {
    std::string text;
    std::getline(std::ifstream(pair.probed.folder / "precious"), text);
    EXPECT_EQ(text, "precious, and longer than nothing at all");
    EXPECT_TRUE(orphaned_segments({pair.probed.outcome.pid}).empty()) << "nobody can find what is left in it";
  }
  if (replacement.thing == std::string("file")) {
    EXPECT_LT(fs::file_size(path), 100u);
  }
}
INSTANTIATE_TEST_SUITE_P(OutputFolder, ReplacedTrace,
                         testing::Values(Replacement{"pipe", "alone"}, Replacement{"hard_link", "alone"},
                                         Replacement{"symbolic_link", "alone"}, Replacement{"folder", "alone"},
                                         Replacement{"device", "alone"}, Replacement{"file", "alone"},
                                         Replacement{"nothing", "alone"}, Replacement{"second_name", "alone"},
                                         Replacement{"pipe", "thread"}, Replacement{"hard_link", "thread"},
                                         Replacement{"pipe", "no_table"}, Replacement{"hard_link", "no_table"}),
                         [](const auto& each) {
                           return std::string(each.param.thing) + "_with_" + each.param.threads;
                         });

// HOSTPROBE_OUT is relative to where the program was started, wherever it goes afterwards.
TEST(OutputFolder, ARelativeNameIsTakenFromWhereTheProgramStarted) {
  for (const char* way : {"chdir", "chdir-first"}) {
    const Pair pair({.program = "moves_its_root", .args = {way}, .probe = {{"HOSTPROBE_OUT", "relative/deep"}}});
    expect_same(pair);
    EXPECT_EQ(trace_files(pair.probed.folder / "relative/deep").size(), 1u) << way;
    EXPECT_EQ(dump(pair.probed.folder / "relative/deep").of("sem_timedwait").size(), 2200u) << way;
  }
}

TEST(OutputFolder, FilesAre0600WhateverTheUmask) {
  for (const char* way : {"umask-none", "umask-all", "chdir"}) {
    const Pair pair({.program = "moves_its_root", .args = {way}});
    const auto files = trace_files(pair.run());
    ASSERT_EQ(files.size(), 1u) << way;
    struct stat about = {};
    ASSERT_EQ(stat(files[0].c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777, 0600u) << way;
  }
}

TEST(OutputFolder, ASecondJobOverwritesNothing) {
  ScratchFolder scratch;
  run_probed({.program = "works"}, scratch);
  const auto first = trace_files(scratch.run());
  ASSERT_EQ(first.size(), 1u);
  const auto size = fs::file_size(first[0]);
  run_probed({.program = "works"}, scratch);
  EXPECT_EQ(trace_files(scratch.run()).size(), 2u);
  EXPECT_EQ(fs::file_size(first[0]), size);
  EXPECT_EQ(dump(first[0]).of("sem_timedwait").size(), 100u);
  EXPECT_EQ(dump(scratch.run()).of("sem_timedwait").size(), 100u) << "of the newest";
}

TEST(OutputFolder, TwoJobsMayWriteIntoItAtTheSameTime) {
  ScratchFolder scratch;
  const auto another = [&](pid_t) { run_probed({.program = "works", .args = {"500"}}, scratch); };
  run_probed({.program = "works", .args = {"500"}, .while_running = another}, scratch);
  EXPECT_EQ(trace_files(scratch.run()).size(), 2u);
  EXPECT_EQ(dump(scratch.run()).of("sem_timedwait").size(), 2000u);
}

}  // namespace
}  // namespace hostprobe::test
