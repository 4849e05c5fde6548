// `hostprobe run`: the program's status, its environment, signals: libhostprobe/cli/run.cpp, program.cpp, job_file.cpp
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/trace_file.h"
#include "unit/cli_command.h"

namespace hostprobe::test {
namespace {

using testing::HasSubstr;

class Run : public testing::Test {
 protected:
  Said run(std::vector<std::string> arguments, const std::vector<std::string>& extra = {}) {
    arguments.insert(arguments.begin(), {"run", "-o", folder_.file("run")});
    return hostprobe(arguments, extra, folder_.path().string());
  }
  std::vector<std::filesystem::path> files(const std::string& suffix) const {
    std::vector<std::filesystem::path> result;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file("run"))) {
      if (entry.path().string().ends_with(suffix)) result.push_back(entry.path());
    }
    return result;
  }
  TestFolder folder_;
};

TEST_F(Run, ExitsWithTheProgramsStatus) {
  for (const int status : {0, 1, 7, 255})
    EXPECT_EQ(run({"--", "sh", "-c", "exit " + std::to_string(status)}).status, status);
}

TEST_F(Run, SignalThatEndedTheProgramIsToldAsAShellDoes) {
  EXPECT_EQ(run({"--", "sh", "-c", "kill -TERM $$"}).status, 128 + SIGTERM);
  EXPECT_EQ(run({"--", "sh", "-c", "kill -KILL $$"}).status, 128 + SIGKILL);
}

TEST_F(Run, MissingProgramIs127AndOneThatCannotBeExecutedIs126) {
  const Said missing = run({"--", "no-such-program-anywhere"});
  EXPECT_EQ(missing.status, 127);
  EXPECT_THAT(missing.err, HasSubstr("no-such-program-anywhere"));
  EXPECT_EQ(std::count(missing.err.begin(), missing.err.end(), '\n'), 1);
  TraceFile::write_bytes(folder_.file("plain"), "text");
  EXPECT_EQ(run({"--", folder_.file("plain")}).status, 126);
}

TEST_F(Run, OutputOfTheProgramIsUntouchedAndOursGoesToStderr) {
  const Said said = run({"--", "sh", "-c", "echo out; echo err >&2"});
  EXPECT_EQ(said.out, "out\n");
  EXPECT_THAT(said.err, HasSubstr("err\n"));
  EXPECT_THAT(said.err, HasSubstr("hostprobe: "));
}

TEST_F(Run, ArgumentsBehindTheDashesReachTheProgramAsTheyAre) {
  const Said said = run({"--", "sh", "-c", "printf '%s|' \"$@\"", "sh", "--json", "-o", "", "--", "a b"});
  EXPECT_EQ(said.out, "--json|-o||--|a b|");
}

TEST_F(Run, SettingsBecomeEnvironment) {
  const Said said = run({"--buffer-mb", "8", "--target", "all", "--", "sh", "-c", "env"}, {"LD_PRELOAD="});
  EXPECT_THAT(said.out, HasSubstr("HOSTPROBE_BUFFER_MB=8\n"));
  EXPECT_THAT(said.out, HasSubstr("HOSTPROBE_TARGET=all\n"));
  EXPECT_THAT(said.out, HasSubstr("HOSTPROBE_OUT=" + folder_.file("run") + "\n"));
  EXPECT_THAT(said.out, HasSubstr("/lib/libhostprobe.so\n"));
  EXPECT_THAT(said.out, testing::Not(HasSubstr("HOSTPROBE_STACK_US")));
}

TEST_F(Run, LaunchedProgramIsNamedByItsProcessId) {
  EXPECT_EQ(run({"--", "sh", "-c", "test \"$HOSTPROBE_LAUNCHED\" = $$"}).status, 0);
}

TEST_F(Run, PreloadsOfTheUserAreKept) {
  EXPECT_THAT(run({"--", "sh", "-c", "echo $LD_PRELOAD"}, {"LD_PRELOAD=/no/such/lib.so"}).out,
              HasSubstr("libhostprobe.so:/no/such/lib.so"));
}

TEST_F(Run, BadValuesAreRefusedBeforeAnythingStarts) {
  const std::vector<std::vector<std::string>> kBad = {
      {"--buffer-mb", "0"},  {"--buffer-mb", "1025"},     {"--buffer-mb", "eight"},
      {"--buffer-mb", "8x"}, {"--buffer-mb", ""},         {"--mode", "bogus"},
      {"--off", "2"},        {"--simgpu", "0"},           {"--simgpu", "x"},
      {"--fix", "gcc"},      {"--trigger-signal", "FOO"}, {"--target", ""}};
  for (auto bad : kBad) {
    const std::string shown = testing::PrintToString(bad);
    bad.insert(bad.end(), {"--", "touch", folder_.file("started")});
    const Said said = run(bad);
    EXPECT_EQ(said.status, 2) << shown;
    EXPECT_THAT(said.err, HasSubstr(bad[0])) << shown;
    EXPECT_FALSE(std::filesystem::exists(folder_.file("started"))) << shown;
    EXPECT_FALSE(std::filesystem::exists(folder_.file("run"))) << shown;
  }
}

TEST_F(Run, ProgramBeginsWithTheFirstWordThatIsNoOption) {
  const Said said = run({"--mode", "trace", "--buffer-mb=3", "sh", "-c",
                         "echo $HOSTPROBE_MODE $HOSTPROBE_BUFFER_MB \"$@\"", "sh", "--help", "--", "-o", "x"});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(said.out, "trace 3 --help -- -o x\n");
}

TEST_F(Run, ProgramMayHaveTheNameOfACommandOfOurs) {
  EXPECT_EQ(run({"report"}).status, 127);
  EXPECT_EQ(run({"--", "report"}).status, 127);
}

// What a run folder without a trace says, to `run` at its end and to `report` later.
TEST_F(Run, WithoutATraceTheReasonIsTheTrueOne) {
  struct Case {
    std::vector<std::string> words;
    std::string reason;
  };
  std::filesystem::create_symlink(HOSTPROBE_TEST_STATIC_PROGRAM, folder_.file("static"));
  const Case kCases[] = {{{"true"}, "made no call that is recorded"},
                         {{"--target", "somebody", "sleep", "0"}, "HOSTPROBE_TARGET=somebody"},
                         {{"--off", "1", "sleep", "0"}, "HOSTPROBE_OFF is set"},
                         {{folder_.file("static")}, "is statically linked"},
                         {{"no-such-program-anywhere"}, "did not start (No such file or directory)"}};
  for (const Case& each : kCases) {
    std::filesystem::remove_all(folder_.file("run"));
    std::filesystem::create_directory(
        folder_.file("run"));  // one that was not there is removed with the program's start
    const Said said = run(each.words);
    if (said.status != 127) {
      EXPECT_THAT(said.err, HasSubstr(each.reason));
    }
    const Said report = hostprobe({"report", folder_.file("run")});
    EXPECT_EQ(report.status, 1);
    EXPECT_THAT(report.err, HasSubstr(each.reason));
    EXPECT_EQ(std::count(report.err.begin(), report.err.end(), '\n'), 1) << report.err;
  }
}

TEST_F(Run, FolderThatCannotBeMadeIsExitOne) {
  TraceFile::write_bytes(folder_.file("run"), "a file");
  const Said said = run({"--", "true"});
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err, HasSubstr(folder_.file("run")));
}

TEST_F(Run, WithoutAFolderANewOneOfThisSecondIsMade) {
  const Said said = hostprobe({"run", "--", "sh", "-c", "echo $HOSTPROBE_OUT"}, {}, folder_.path().string());
  const std::string folder = said.out.substr(0, said.out.size() - 1);
  EXPECT_THAT(folder, HasSubstr(folder_.path().string() + "/hostprobe-run-2"));
  EXPECT_TRUE(std::filesystem::is_directory(folder));
}

TEST_F(Run, JobFileTellsWhatWasStartedAndIsPrivate) {
  run({"--", "sh", "-c", "exit 3"});
  run({"--", "true"});
  const auto jobs = files(".job.json");
  ASSERT_EQ(jobs.size(), 2u);
  bool seen = false;
  for (const auto& path : jobs) {
    struct stat status {};
    stat(path.c_str(), &status);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    std::ifstream in(path);
    const auto job = nlohmann::json::parse(in);
    if (job["status"] != 3) continue;
    seen = true;
    EXPECT_EQ(job["argv"], nlohmann::json({"sh", "-c", "exit 3"}));
    EXPECT_GE(job["wall_s"].get<double>(), 0);
    EXPECT_THAT(job["started"].get<std::string>(), testing::MatchesRegex("....-..-..T..:..:..Z"));
  }
  EXPECT_TRUE(seen);
}

// The folder may hold more: what this job did is what counts, here and in what is read later.
TEST_F(Run, SecondJobOfAFolderIsShownAndCountedAlone) {
  ASSERT_THAT(run({"--", "sleep", "0.02"}).err, HasSubstr("1 trace in"));
  const Said nothing = run({"--", "true"});
  EXPECT_THAT(nothing.err, HasSubstr("made no call that is recorded"));
  EXPECT_THAT(nothing.err, testing::Not(HasSubstr("1 trace in")));
  EXPECT_THAT(nothing.err, testing::Not(HasSubstr("next: ")));
  const Said report = hostprobe({"report", folder_.file("run")});
  EXPECT_EQ(report.status, 1) << "not what the first job did";
  EXPECT_THAT(report.err, HasSubstr("--job 1"));
  EXPECT_EQ(hostprobe({"report", folder_.file("run"), "--job", "1"}).status, 0);
  EXPECT_THAT(run({"--", "sleep", "0.02"}).err, HasSubstr("1 trace in"));
  const auto json = nlohmann::json::parse(hostprobe({"report", folder_.file("run"), "--json"}).out);
  EXPECT_EQ(json["run"]["job"], 2);
  EXPECT_EQ(json["processes"].size(), 1u);
  EXPECT_LT(json["run"]["wall_s"].get<double>(), 60);
  EXPECT_THAT(hostprobe({"report", folder_.file("run")}).out, HasSubstr("job 2 of 2"));
  EXPECT_THAT(hostprobe({"dump", folder_.file("run")}).err, HasSubstr("job 2 of 2"));
  EXPECT_EQ(hostprobe({"report", folder_.file("run"), "--job", "3"}).status, 1);
  const Said diff = hostprobe({"diff", folder_.file("run"), folder_.file("run"), "--job-a", "1", "--json"});
  EXPECT_EQ(nlohmann::json::parse(diff.out)["a"]["job"], 1) << diff.err;
}

TEST_F(Run, WhatLiesInThePlaceOfItsJobFileIsLeftAlone) {
  const Said said = run({"--", "sh", "-c",
                         "until ls $HOSTPROBE_OUT/*.job.json; do sleep 0.01; done >/dev/null 2>&1\n"
                         "for file in $HOSTPROBE_OUT/*.job.json; do rm $file; mkfifo $file; done; exit 5"});
  EXPECT_EQ(said.status, 5);
}

// A program that waits to be told; the command has to pass the signal on and then exit with the program's status.
int status_after_signal(const TestFolder& folder, int signal, const std::string& script) {
  const std::string ready = folder.file("ready"), run = folder.file("run");
  const pid_t command = fork();
  if (command == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    execl(HOSTPROBE_TEST_COMMAND, "hostprobe", "run", "-o", run.c_str(), "--", "sh", "-c",
          (script + "; : > " + ready + "; while :; do sleep 0.02; done").c_str(), nullptr);
    _exit(99);
  }
  while (!std::filesystem::exists(ready)) usleep(5000);
  kill(command, signal);
  int status = 0;
  waitpid(command, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST_F(Run, SignalsReachTheProgram) { EXPECT_EQ(status_after_signal(folder_, SIGTERM, "trap 'exit 42' TERM"), 42); }

TEST_F(Run, UserSignalsReachTheProgram) { EXPECT_EQ(status_after_signal(folder_, SIGUSR1, "trap 'exit 43' USR1"), 43); }

TEST_F(Run, SignalThatTheProgramDoesNotHandleEndsBoth) {
  EXPECT_EQ(status_after_signal(folder_, SIGINT, "true"), 128 + SIGINT);
}

}  // namespace
}  // namespace hostprobe::test
