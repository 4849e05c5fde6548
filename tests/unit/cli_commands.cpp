// Exit codes, usage errors and what goes to stdout: libhostprobe/cli, all subcommands but `run`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/trace_file.h"
#include "unit/cli_command.h"

namespace hostprobe::test {
namespace {

using testing::HasSubstr;

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

class WithRun : public testing::Test {
 protected:
  WithRun() {
    TraceFile file;
    file.header.rank = 0;
    file.hooks({wait_hook("sem_wait")});
    file.calls(4242, 0, {{.begin_us = 0, .end_us = 5}});
    file.write(folder_.file("h-4242-1.hptrace"));
  }
  std::string run() const { return folder_.path().string(); }
  TestFolder folder_;
};

TEST(Usage, MistakesExitWithTwoAndSayNothingOnStdout) {
  const std::vector<std::vector<std::string>> kMistakes = {{},
                                                           {"bogus"},
                                                           {"report"},
                                                           {"report", "a", "b"},
                                                           {"report", "--bogus", "a"},
                                                           {"dump"},
                                                           {"recover"},
                                                           {"run"},
                                                           {"run", "--"},
                                                           {"run", "-o"},
                                                           {"run", "-o", "x"},
                                                           {"run", "--bogus", "1", "--", "true"},
                                                           {"options", "x"},
                                                           {"--bogus"}};
  for (const auto& mistake : kMistakes) {
    const Said said = hostprobe(mistake);
    EXPECT_EQ(said.status, 2) << testing::PrintToString(mistake) << said.err;
    EXPECT_EQ(said.out, "") << testing::PrintToString(mistake);
    EXPECT_NE(said.err, "") << testing::PrintToString(mistake);
  }
}

// command line → what the one line on stderr must hold.
struct Slip {
  std::vector<std::string> words;
  std::string answer;
};

TEST(Usage, MisspeltCommandOrOptionNamesTheNearest) {
  const Slip kSlips[] = {{{"repot", "x"}, "report"},
                         {{"ru", "true"}, "run"},
                         {{"report", "--jsn", "x"}, "--json"},
                         {{"run", "--bufer-mb", "3", "--", "true"}, "--buffer-mb"},
                         {{"run", "--mode=flight", "--targt=all", "true"}, "--target"},
                         {{"--versoin"}, "--version"}};
  for (const Slip& slip : kSlips) {
    const Said said = hostprobe(slip.words);
    EXPECT_EQ(said.status, 2) << said.err;
    EXPECT_THAT(said.err, HasSubstr("the nearest is " + slip.answer + ";")) << testing::PrintToString(slip.words);
    EXPECT_EQ(lines(said.err), 1u) << said.err;
  }
}

TEST(Usage, WhatResemblesNothingIsGivenNoNearest) {
  const Said said = hostprobe({"xyzzyxyzzy"});
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.err.find("nearest"), std::string::npos) << said.err;
}

TEST_F(WithRun, WhatIsAboutAPageNeedsOne) {
  for (const char* option : {"--redact", "--force"}) {
    const Said said = hostprobe({"report", run(), option});
    EXPECT_EQ(said.status, 2) << said.err;
    EXPECT_THAT(said.err, HasSubstr("--html FILE"));
  }
}

TEST(Usage, ArgumentTooManyIsNamed) {
  EXPECT_THAT(hostprobe({"report", "first", "second"}).err, HasSubstr("'second'"));
}

// As the completion offers them.
std::vector<std::string> listed_commands() {
  const std::string script = hostprobe({"completion"}).out;
  const std::size_t from = script.find('"', script.find("compgen -W ")) + 1;
  std::istringstream words(script.substr(from, script.find('"', from) - from));
  std::vector<std::string> commands;
  for (std::string word; words >> word;)
    if (!word.starts_with("-")) commands.push_back(word);
  return commands;
}

TEST(Usage, HelpOfEveryCommandHasExamples) {
  EXPECT_THAT(hostprobe({"--help"}).out, HasSubstr("Examples:"));
  const std::vector<std::string> commands = listed_commands();
  EXPECT_GE(commands.size(), 18u);
  for (const std::string& command : commands) {
    const Said said = hostprobe({command, "--help"});
    EXPECT_EQ(said.status, 0) << command;
    EXPECT_THAT(said.out, HasSubstr("xample")) << command;
    EXPECT_THAT(said.out, HasSubstr("  hostprobe " + command)) << command;
  }
}

TEST(Doctor, AnswersScriptsAndPeople) {
  const Said said = hostprobe({"doctor", "--json"});
  EXPECT_EQ(said.status, 0) << said.err;
  const auto json = nlohmann::json::parse(said.out);
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_GE(json.at("findings").size(), 10u);
  for (const auto& one : json.at("findings")) {
    EXPECT_NE(one.at("what"), "") << one;
    EXPECT_EQ(one.at("do").is_null(), one.at("health") == "good") << one;
  }
  const Said text = hostprobe({"doctor", "--all"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("perf_events"));
  EXPECT_EQ(hostprobe({"doctor", "--no-such"}).status, 2);
}

TEST(Usage, VersionIsOneLineOnStdout) {
  const Said said = hostprobe({"--version"});
  EXPECT_EQ(said.status, 0);
  EXPECT_TRUE(said.out.starts_with("hostprobe ")) << said.out;
  EXPECT_EQ(lines(said.out), 1u);
}

TEST(Usage, RunThatIsNotThereIsOneLineAndExitOne) {
  for (const char* command : {"report", "dump", "recover", "hooks"}) {
    const Said said = hostprobe({command, "/no/such/run"});
    EXPECT_EQ(said.status, 1) << command;
    EXPECT_EQ(said.out, "") << command;
    EXPECT_EQ(lines(said.err), 1u) << said.err;
    EXPECT_THAT(said.err, HasSubstr("/no/such/run"));
  }
}

TEST(Usage, FolderThatIsNoRunSaysSo) {
  const TestFolder empty;
  for (const char* command : {"report", "dump", "recover", "hooks"}) {
    const Said said = hostprobe({command, empty.path().string()});
    EXPECT_EQ(said.status, 1) << command;
    EXPECT_THAT(said.err, HasSubstr("nothing recorded")) << command;
    EXPECT_EQ(lines(said.err), 1u) << said.err;
  }
}

TEST(Usage, FileThatIsNoTraceIsOneLineAndNoReport) {
  const TestFolder folder;
  TraceFile::write_bytes(folder.file("notes"), "rubbish");
  const Said said = hostprobe({"report", folder.file("notes")});
  EXPECT_EQ(said.status, 1);
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(lines(said.err), 1u) << said.err;
  EXPECT_THAT(said.err, HasSubstr("not a hostprobe trace"));
}

TEST(Usage, RunWithNothingReadableReportsItAndExitsWithOne) {
  const TestFolder folder;
  TraceFile::write_bytes(folder.file("x.hptrace"), "rubbish");
  const Said said = hostprobe({"report", folder.path().string(), "--json"});
  EXPECT_EQ(said.status, 1);
  EXPECT_EQ(nlohmann::json::parse(said.out)["unreadable"].size(), 1u);
}

TEST(Usage, RunOfTheKernelAloneIsReportedAsThatAndIsNoJobToCompare) {
  const TestFolder folder;
  TraceFile::write_bytes(folder.file("trace.txt"), "a-7 [000] d..2. 5.000001: softirq_entry: vec=1 [action=TIMER]\n");
  const std::string run = folder.file("run");
  ASSERT_EQ(hostprobe({"import", "-o", run, "--ftrace", "--clock", "mono", folder.file("trace.txt")}).status, 0);
  const Said text = hostprobe({"report", run});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("no process of a job"));
  EXPECT_THAT(text.out, HasSubstr("hostprobe run -o"));
  const Said json = hostprobe({"report", run, "--json"});
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["kernel"][0]["events"], 1);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"diff", run, run}, {"hooks", run}}) {
    const Said said = hostprobe(command);
    EXPECT_EQ(said.status, 1) << command[0];
    EXPECT_THAT(said.err, HasSubstr("holds what the kernel recorded, and no trace of a process")) << command[0];
  }
}

TEST_F(WithRun, ReportGoesToStdoutAndNothingElseDoes) {
  const Said text = hostprobe({"report", run()});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, HasSubstr("1 of 1 rank"));
  EXPECT_EQ(text.err, "");
  const Said json = hostprobe({"report", run(), "--json"});
  EXPECT_EQ(json.status, 0);
  EXPECT_EQ(nlohmann::json::parse(json.out)["schema"], 1);
  EXPECT_EQ(json.err, "");
}

TEST_F(WithRun, DumpGivesOneLineARecordAndDamageGoesToStderr) {
  EXPECT_EQ(lines(hostprobe({"dump", run()}).out), 1u);
  TraceFile::write_bytes(folder_.file("y.hptrace"), "rubbish");
  const Said said = hostprobe({"dump", run(), "--json"});
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(nlohmann::json::parse(said.out)["function"], "sem_wait");
  EXPECT_THAT(said.err, HasSubstr("y.hptrace"));
}

TEST_F(WithRun, HooksOfARunTellWhichRecorded) {
  const Said said = hostprobe({"hooks", run()});
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(said.out, HasSubstr("1 records"));
  EXPECT_THAT(said.out, HasSubstr("sem_wait"));
}

TEST_F(WithRun, RecoverOfACompleteRunHasNothingToDo) {
  const Said said = hostprobe({"recover", run()});
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(said.out, HasSubstr("nothing to do"));
}

TEST_F(WithRun, RecoverOfManyCompleteTracesIsOneLine) {
  std::filesystem::copy_file(folder_.file("h-4242-1.hptrace"), folder_.file("h-4243-1.hptrace"));
  const Said said = hostprobe({"recover", run()});
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(lines(said.out), 1u);
  EXPECT_THAT(said.out, HasSubstr("2 traces"));
}

TEST_F(WithRun, ARankOrAStepThatDoesNotExistSaysWhichDo) {
  TraceFile second;
  second.header.rank = 1;
  second.header.pid = 4243;
  second.hooks({{.name = "hostprobe_step", .family = Family::kPython, .labels = {"number"}, .blocking = false}});
  second.calls(4243, 0, {{.begin_us = 0, .end_us = 5, .a = 30}, {.begin_us = 5, .end_us = 9, .a = 31}});
  second.write(folder_.file("h-4243-1.hptrace"));
  const Said rank = hostprobe({"report", run(), "--rank", "7"});
  EXPECT_EQ(rank.status, 1);
  EXPECT_EQ(lines(rank.err), 1u);
  EXPECT_THAT(rank.err, HasSubstr("0, 1"));
  const Said step = hostprobe({"report", run(), "--step", "9999"});
  EXPECT_EQ(step.status, 1);
  EXPECT_EQ(lines(step.err), 1u);
  EXPECT_THAT(step.err, HasSubstr("30, 31"));
}

TEST_F(WithRun, FullStdoutIsAnError) {
  const Said said = hostprobe({"options"});
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(
      std::system(
          (std::string(HOSTPROBE_TEST_COMMAND) + " dump " + run() + " --json > /dev/full 2> /dev/null").c_str()) >>
          8,
      1);
}

TEST(Options, EverySettingHasEnvironmentFlagAndDefault) {
  const Said text = hostprobe({"options"});
  for (const char* part : {"HOSTPROBE_BUFFER_MB", "--buffer-mb", "HOSTPROBE_TARGET", "HOSTPROBE_OUT"})
    EXPECT_THAT(text.out, HasSubstr(part));
  const Said markdown = hostprobe({"options", "--markdown"});
  EXPECT_THAT(markdown.out, HasSubstr("| `HOSTPROBE_BUFFER_MB` | `--buffer-mb` |"));
}

TEST(Hooks, ListComesFromTheLibraryThatIsInjected) {
  const Said said = hostprobe({"hooks"});
  EXPECT_EQ(said.status, 0) << said.err;
  for (const char* name : {"sem_wait", "cuLaunchKernel", "pthread_create"}) EXPECT_THAT(said.out, HasSubstr(name));
}

TEST(Manual, HasAPageForEachCommandThatHelpLists) {
  const TestFolder folder;
  ASSERT_EQ(hostprobe({"manual", folder.path().string()}).status, 0);
  const std::string help = hostprobe({"--help"}).out;
  std::size_t pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = entry.path().stem().string();
    ++pages;
    if (name != "hostprobe") {
      EXPECT_THAT(help, HasSubstr("\n  " + name.substr(std::string("hostprobe-").size()) + " "));
    }
  }
  EXPECT_EQ(pages, 19u);
}

TEST(Completion, OffersEverySettingToRun) {
  const std::string script = hostprobe({"completion"}).out;
  for (const char* flag : {"--buffer-mb", "--target", "--simgpu", "--out"}) EXPECT_THAT(script, HasSubstr(flag));
}

TEST_F(WithRun, HooksExplainsEachOfItsColumns) {
  const std::string help = hostprobe({"hooks", "--help"}).out;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"hooks"}, {"hooks", run()}}) {
    std::string heading = hostprobe(words).out;
    heading.resize(heading.find('\n'));
    for (const char* column : {"FAMILY", "EXPORTED AS", "IN THIS RUN"})
      if (heading.find(column) != std::string::npos) {
        EXPECT_THAT(help, HasSubstr(column));
      }
    EXPECT_THAT(heading, testing::AllOf(HasSubstr("FAMILY"), HasSubstr("FUNCTION")));
  }
}

}  // namespace
}  // namespace hostprobe::test
