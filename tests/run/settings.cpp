// settings: which processes record, what is said about settings that are unknown or malformed, and that a process that
// is no target is left without a trace of the probe: no file, no thread, no memory.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "answers.h"
#include "format/file.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {
namespace fs = std::filesystem;

// The tests' usual HOSTPROBE_TARGET=all is taken back where a test is about targets.
Victim under(const std::string& program, const std::string& target, std::vector<std::string> args = {}) {
  return {.program = program, .args = std::move(args), .probe = {{"HOSTPROBE_TARGET", target}}};
}

TEST(Settings, AnUnknownOneIsNamedOnceWithTheNearestName) {
  Victim victim = under("works", "all");
  victim.probe["HOSTPROBE_BUFER_MB"] = "8";
  const Pair pair(victim);
  expect_same(pair, 1);
  const auto messages = probe_messages(pair.probed.outcome.err);
  ASSERT_EQ(messages.size(), 1u) << pair.probed.outcome.err;
  EXPECT_NE(messages[0].find("HOSTPROBE_BUFER_MB"), std::string::npos) << messages[0];
  EXPECT_NE(messages[0].find("HOSTPROBE_BUFFER_MB"), std::string::npos) << messages[0];
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 100u);
}

struct Verdict {
  const char* name;
  const char* target;
  std::vector<std::string> command;
  Environment more;
  const char* words;
};
void PrintTo(const Verdict& verdict, std::ostream* out) { *out << verdict.name; }

class Verbose : public testing::TestWithParam<Verdict> {};

TEST_P(Verbose, SaysInALineWhetherAProcessRecordsOrWhyNot) {
  const auto& [name, target, command, more, words] = GetParam();
  Victim victim = under(command[0], target, {command.begin() + 1, command.end()});
  victim.probe["HOSTPROBE_VERBOSE"] = "1";
  victim.probe.insert(more.begin(), more.end());
  const Pair pair(victim);
  expect_same(pair, 1);
  const auto messages = probe_messages(pair.probed.outcome.err);
  ASSERT_EQ(messages.size(), 1u) << pair.probed.outcome.err;
  EXPECT_NE(messages[0].find("[" + std::to_string(pair.probed.outcome.pid) + "]: " + words), std::string::npos)
      << messages[0];
}
INSTANTIATE_TEST_SUITE_P(
    Settings, Verbose,
    testing::Values(
        Verdict{"records", "all", {"works"}, {}, "recording to "},
        Verdict{"is_off", "all", {"works"}, {{"HOSTPROBE_OFF", "1"}}, "not recording: HOSTPROBE_OFF"},
        Verdict{"is_no_target", "torch*", {"works"}, {}, "not recording: works is none of HOSTPROBE_TARGET=torch*"},
        Verdict{"never_became_one", "auto", {"works"}, {}, "not recording: it was given no rank"},
        Verdict{"made_no_call", "all", {"/bin/true"}, {}, "not recording: a target, but"},
        Verdict{"cannot", "all", {"works"}, {{"HOSTPROBE_OUT", "/proc/nowhere"}}, "cannot make a trace"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Settings, VerboseSpeaksForEachForkedChild) {
  Victim victim = under("forks", "all", {"fork"});
  victim.probe["HOSTPROBE_VERBOSE"] = "1";
  const Pair pair(victim);
  expect_same(pair, 3);
  EXPECT_EQ(probe_messages(pair.probed.outcome.err).size(), 3u) << pair.probed.outcome.err;
}

// Of each block of records its kind, times 16, plus the codec where it is packed.
std::set<int> forms_in(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  std::set<int> forms;
  BlockHead head{};
  for (std::size_t at = kFileHeaderBytes; at + sizeof head <= bytes.size(); at += sizeof head + head.payload_bytes) {
    std::memcpy(&head, &bytes[at], sizeof head);
    PackedHead packed{};
    if (head.kind == kBlockPackedRecords)
      std::memcpy(&packed, &bytes[at + sizeof head + sizeof(RecordsHead)], sizeof packed);
    if (head.kind == kBlockRecords || head.kind == kBlockPackedRecords) forms.insert(head.kind * 16 + packed.codec);
  }
  return forms;
}

TEST(Settings, CompressSaysWhatRecordsBecomeOnDiskAndNothingElse) {
  const std::pair<const char*, int> forms[] = {{"zstd", kBlockPackedRecords * 16 + kCodecZstd},
                                               {"fast", kBlockPackedRecords * 16 + kCodecNone},
                                               {"none", kBlockRecords * 16}};
  for (const auto& [word, form] : forms) {
    Victim victim = under("works", "all", {"2000"});
    victim.probe["HOSTPROBE_COMPRESS"] = word;
    const Pair pair(victim);
    expect_same(pair);
    for (const fs::path& file : trace_files(pair.run())) EXPECT_TRUE(forms_in(file).contains(form)) << word;
    EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 4000u) << word;
  }
}

// The loader then leaves no trace of our object in our tables: another way leads to the objects behind us.
TEST(Settings, AProgramThatIsBoundAtOnceIsRecordedToo) {
  Victim victim = under("works", "all");
  victim.probe["LD_BIND_NOW"] = "1";
  const Pair pair(victim);
  expect_same(pair);
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 100u);
}

class MalformedSetting : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(MalformedSetting, IsSaidOnceAndTheDefaultIsUsed) {
  Victim victim = under("works", "all");
  victim.probe[GetParam().first] = GetParam().second;
  const Pair pair(victim);
  expect_same(pair, 1);
  const auto messages = probe_messages(pair.probed.outcome.err);
  ASSERT_EQ(messages.size(), 1u) << pair.probed.outcome.err;
  EXPECT_NE(messages[0].find(GetParam().first), std::string::npos) << messages[0];
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 100u);
}
INSTANTIATE_TEST_SUITE_P(Settings, MalformedSetting,
                         testing::Values(std::pair{"HOSTPROBE_BUFFER_MB", "twelve"},
                                         std::pair{"HOSTPROBE_BUFFER_MB", "0"},
                                         std::pair{"HOSTPROBE_BUFFER_MB", "99999999999999999999999"},
                                         std::pair{"HOSTPROBE_BUFFER_MB", "-1"}, std::pair{"HOSTPROBE_STACK_US", "1e3"},
                                         std::pair{"HOSTPROBE_STACK_INTERVAL_MS", "5 "},
                                         std::pair{"HOSTPROBE_MODE", "everything"}, std::pair{"HOSTPROBE_OFF", "yes"}));

TEST(Settings, HoweverManyAreUnknownTheMessagesAreFew) {
  Victim victim = under("works", "all");
  for (char letter = 'A'; letter <= 'Z'; ++letter) victim.probe[std::string("HOSTPROBE_NONSENSE_") + letter] = "1";
  const Pair pair(victim);
  expect_same(pair, 16);
  EXPECT_GE(probe_messages(pair.probed.outcome.err).size(), 1u);
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 100u);
}

TEST(Settings, SpawnedProgramsDoNotRepeatTheMessage) {
  Victim victim = under("spawns", "spawns", {"system"});
  victim.probe["HOSTPROBE_STACK_US"] = "often";
  expect_same(Pair(victim), 1);
}

TEST(Settings, OffHooksNothingAndWritesNothing) {
  Victim victim = under("looks_at_itself", "all");
  victim.probe["HOSTPROBE_OFF"] = "1";
  const Pair pair(victim);
  expect_same(pair);
  EXPECT_FALSE(fs::exists(pair.run()));
}

TEST(Settings, OffSilencesEvenBadSettings) {
  Victim victim = under("works", "all");
  victim.probe["HOSTPROBE_OFF"] = "1";
  victim.probe["HOSTPROBE_OUT"] = "/dev/null/run";
  expect_same(Pair(victim));
}

struct Target {
  const char* globs;
  bool records;
};
void PrintTo(const Target& target, std::ostream* out) { *out << target.globs; }

class TargetGlobs : public testing::TestWithParam<Target> {};

TEST_P(TargetGlobs, DecideWhoRecords) {
  const Pair pair(under("works", GetParam().globs));
  expect_same(pair);
  EXPECT_EQ(trace_files(pair.run()).size(), GetParam().records ? 1u : 0u);
  EXPECT_EQ(fs::exists(pair.run()), GetParam().records);
}
INSTANTIATE_TEST_SUITE_P(Settings, TargetGlobs,
                         testing::Values(Target{"all", true}, Target{"works", true}, Target{"wo*", true},
                                         Target{"python*,w?rks", true}, Target{"[v-x]orks", true}, Target{"*", true},
                                         Target{"work", false}, Target{"orks", false}, Target{"python*", false},
                                         Target{"works_not", false}, Target{"auto", false}));

TEST(Settings, UnderAutoTheProgramThatRunStartedIsATarget) {
  ScratchFolder scratch;
  const Outcome outcome = run({.command = {probe_command(), "run", "-o", scratch.run(), "--", program_path("works")}});
  EXPECT_TRUE(outcome.exited_with(5)) << outcome.describe();
  EXPECT_EQ(trace_files(scratch.run()).size(), 1u);
  EXPECT_EQ(dump(scratch.run()).of("sem_timedwait").size(), 100u);
}

TEST(Settings, UnderAutoARankOfAJobIsATarget) {
  Victim victim = under("works", "auto");
  victim.environment = {{"RANK", "3"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "4"}};
  const Pair pair(victim);
  expect_same(pair);
  ASSERT_EQ(trace_files(pair.run()).size(), 1u);
  EXPECT_EQ(report(pair.run()).at("processes").at(0).at("rank"), 3);
}

TEST(Settings, RunEndsWithTheProgramsOwnStatus) {
  for (const auto& [signal, status] : {std::pair{"15", 143}, std::pair{"9", 137}, std::pair{"11", 139}}) {
    ScratchFolder scratch;
    const Outcome outcome =
        run({.command = {probe_command(), "run", "-o", scratch.run(), "--", program_path("signals_end_it"), signal}});
    EXPECT_TRUE(outcome.exited_with(status)) << outcome.describe();
    EXPECT_EQ(dump(scratch.run()).of("sem_timedwait").size(), 5u) << signal;
  }
}

class NoTarget : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(NoTarget, IsLeftAlone) {
  std::vector<std::string> args(GetParam().begin() + 1, GetParam().end());
  const Pair pair(under(GetParam()[0], "auto", args));
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_FALSE(fs::exists(pair.run()));
}
INSTANTIATE_TEST_SUITE_P(
    Settings, NoTarget,
    testing::Values(std::vector<std::string>{"/bin/true"}, std::vector<std::string>{"/bin/ls", "/"},
                    std::vector<std::string>{"/bin/sh", "-c", "ls / | wc -l; echo $?; (exit 3) || true"},
                    std::vector<std::string>{"/bin/cat", "/proc/self/comm"},
                    std::vector<std::string>{"/usr/bin/env", "python3", "-c", "pass"},
                    std::vector<std::string>{"/usr/bin/env", "python3", "-c",
                                             "import threading, queue; q = queue.Queue()\n"
                                             "t = threading.Thread(target=q.put, args=(1,)); t.start()\n"
                                             "print(q.get(timeout=5)); t.join()"}));

// Threads and waits of its own, and yet: the same threads, mappings and descriptors as without the probe.
TEST(Settings, AProcessThatIsNoTargetHasNoThreadNoMemoryNoDescriptorOfOurs) {
  const Pair pair(under("looks_at_itself", "auto"));
  EXPECT_NE(pair.bare.outcome.out.find("threads 1\nshared mappings 0\n"), std::string::npos);
  expect_same(pair);
  EXPECT_FALSE(fs::exists(pair.run()));
}

TEST(Settings, ASetuidProgramIsLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to make a setuid program";
  ScratchFolder scratch;
  const fs::path copy = scratch.path() / "works";
  fs::copy_file(program_path("works"), copy);
  fs::permissions(scratch.path(), fs::perms(0755));
  if (chown(copy.c_str(), 65534, 65534) != 0 || chmod(copy.c_str(), 06755) != 0)
    GTEST_SKIP() << "this file system holds no setuid programs";
  const Pair pair(under(copy, "all"));
  EXPECT_TRUE(pair.bare.outcome.exited_with(5)) << pair.bare.outcome.describe();
  EXPECT_EQ(pair.bare.outcome.status, pair.probed.outcome.status);
  EXPECT_EQ(pair.bare.outcome.out, pair.probed.outcome.out);
  EXPECT_TRUE(probe_messages(pair.probed.outcome.err).empty()) << pair.probed.outcome.err;
  EXPECT_FALSE(fs::exists(pair.run()));
}

TEST(Settings, AStaticProgramRunsAsWithoutUs) {
  const Pair pair(under("works_static", "all"));
  EXPECT_TRUE(pair.bare.outcome.exited_with(5)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_FALSE(fs::exists(pair.run()));
}

TEST(Settings, AMissingPreloadObjectIsTheLoadersOwnMatter) {
  Victim victim = under("works", "all");
  victim.probe["LD_PRELOAD"] = "/there/is/no/libhostprobe.so";
  const Pair pair(victim);
  EXPECT_EQ(pair.bare.outcome.status, pair.probed.outcome.status);
  EXPECT_EQ(pair.bare.outcome.out, pair.probed.outcome.out);
  EXPECT_FALSE(fs::exists(pair.run()));
}

TEST(Settings, PreloadedTwiceIsPreloadedOnce) {
  Victim victim = under("works", "all");
  victim.probe["LD_PRELOAD"] = probe_library().string() + ":" + probe_library().string();
  const Pair pair(victim);
  expect_same(pair);
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), 100u);
}

}  // namespace
}  // namespace hostprobe::test
