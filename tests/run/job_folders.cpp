// job_folders: where jobs record that were started with the preload alone, and what is said of it.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {
namespace fs = std::filesystem;

class JobFolder : public testing::Test {
 protected:
  // By a shell that has no preload itself; in `words`, $PROBE is what a user puts before a program.
  Outcome start(const std::string& words, Environment environment = {}) {
    environment["WORKS"] = program_path("works").string();
    environment["HOSTPROBE_TARGET"] = "works,python*,replaces_stderr";
    std::string text = words;
    for (std::size_t at; (at = text.find("$PROBE")) != std::string::npos;)
      text.replace(at, 6, "LD_PRELOAD=" + probe_library().string());
    return hostprobe::test::run(
        {.command = {"/bin/sh", "-c", text}, .environment = environment, .folder = scratch_.path()});
  }
  std::vector<fs::path> folders() const {
    std::vector<fs::path> found;
    for (const auto& each : fs::directory_iterator(scratch_.path() / "hostprobe-run")) found.push_back(each.path());
    return found;
  }
  ScratchFolder scratch_;
};

TEST_F(JobFolder, EachOfTwoJobsHasItsOwn) {
  start("$PROBE $WORKS; $PROBE $WORKS; true");
  ASSERT_EQ(folders().size(), 2u);
  for (const fs::path& folder : folders()) EXPECT_EQ(trace_files(folder).size(), 1u) << folder;
}

TEST_F(JobFolder, IsOneForAllThatAJobStarts) {
  const Outcome outcome = start("$PROBE sh -c '$WORKS & $WORKS & wait; mkdir other; cd other; $WORKS; true'");
  ASSERT_EQ(folders().size(), 1u) << outcome.describe();
  EXPECT_EQ(trace_files(folders()[0]).size(), 3u);
  EXPECT_EQ(probe_messages(outcome.err).size(), 1u) << outcome.err;
}

TEST_F(JobFolder, IsOneForRanksThatShareOnlyTheirLauncher) {
  const Outcome outcome = start(
      "export WORLD_SIZE=2 MASTER_PORT=2345; (RANK=0 exec env $PROBE $WORKS 2>zero) & (RANK=1 exec env $PROBE $WORKS) "
      "& wait");
  ASSERT_EQ(folders().size(), 1u) << outcome.describe();
  EXPECT_EQ(trace_files(folders()[0]).size(), 2u);
  EXPECT_TRUE(probe_messages(outcome.err).empty()) << outcome.err;
  std::stringstream zero;
  zero << std::ifstream(scratch_.path() / "zero").rdbuf();
  const auto messages = probe_messages(zero.str());
  ASSERT_EQ(messages.size(), 1u) << zero.str();
  EXPECT_NE(messages[0].find("hostprobe report " + folders()[0].string()), std::string::npos) << messages[0];
}

TEST_F(JobFolder, IsNamedOnceAndNeverWhereSomebodyReadsThePrograms) {
  const Outcome outcome = start("$PROBE sh -c 'said=$($WORKS 2>&1 >/dev/null); echo \"[$said]\"; true'");
  EXPECT_NE(outcome.out.find("[]"), std::string::npos) << outcome.describe();
  EXPECT_TRUE(probe_messages(outcome.err).empty()) << outcome.err;
}

TEST_F(JobFolder, IsNotSaidIntoAFileOfTheProgramsOwn) {
  const std::string program = program_path("replaces_stderr").string();
  const Outcome outcome =
      start("$PROBE " + program + " late", {{"VICTIM_TRUTH", (scratch_.path() / "truth").string()}});
  EXPECT_TRUE(outcome.exited_with(4)) << outcome.describe();
  EXPECT_EQ(folders().size(), 1u);
  EXPECT_EQ(fs::file_size(scratch_.path() / "own-file"), 0u);
}

TEST_F(JobFolder, IsWhatTheUserSaysWhereTheUserSaysIt) {
  const Outcome outcome = start("HOSTPROBE_OUT=mine $PROBE $WORKS; true");
  EXPECT_EQ(trace_files(scratch_.path() / "mine").size(), 1u);
  EXPECT_FALSE(fs::exists(scratch_.path() / "hostprobe-run"));
  EXPECT_TRUE(probe_messages(outcome.err).empty()) << outcome.err;
}

}  // namespace
}  // namespace hostprobe::test
