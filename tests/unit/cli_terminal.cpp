// What other people's files and programs are called steers no terminal, whatever the command: libhostprobe/cli/output.cpp
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <sstream>

#include "support/trace_file.h"
#include "unit/cli_command.h"

namespace hostprobe::test {
namespace {

constexpr char kHostile[] = "x\033[31mred\a\302\233H";  // a colour, a bell, and a cursor move of 8-bit terminals

class Terminal : public testing::Test {
 protected:
  Terminal() {
    TraceFile file;
    file.header.rank = 0;
    set_text(file.header.command, kHostile);
    set_text(file.header.program, kHostile);
    set_text(file.header.host, kHostile);
    set_text(file.header.mode, kHostile);
    file.hooks({wait_hook(kHostile), launch_hook("cuLaunchKernel")});
    StringArea strings;
    const auto name = strings.add(kHostile);
    file.strings(strings);
    file.stack(0, {}, {name});
    file.module(0x100000, 0x200000, std::string("/x/") + kHostile);
    file.thread(thread_entry(4242, kHostile));
    file.calls(4242, 0,
               {{.begin_us = 0, .end_us = 900'000, .c = 0x100001, .stack = 1},
                {.hook = 2, .begin_us = 900'010, .end_us = 900'020, .a = name}});
    file.write(folder_.file(trace()));
    std::filesystem::create_directory(folder_.file("empty"));
    TraceFile::write_bytes(folder_.file(std::string("damaged") + kHostile + ".hptrace"), "no trace");
  }
  static std::string trace() { return std::string("h") + kHostile + "-4242-1.hptrace"; }
  std::string run() const { return folder_.path().string(); }
  std::string nothing() const { return folder_.file(kHostile); }

  // What is said to these words, as they stand and with one word too many.
  void expect_clean(std::vector<std::string> words, bool hostile_input_is_shown) {
    const Said said = hostprobe(words);
    const std::string all = said.out + said.err;
    EXPECT_EQ(all.find_first_of("\033\a"), std::string::npos) << testing::PrintToString(words) << all;
    EXPECT_EQ(all.find("\302\233"), std::string::npos) << testing::PrintToString(words) << all;
    // Otherwise the test would pass where nothing of it was printed.
    EXPECT_EQ(all.find("[31mred") != std::string::npos, hostile_input_is_shown) << testing::PrintToString(words) << all;
  }

  TestFolder folder_;
};

// Per command, the lines that make it print what others named. A new command needs its own here.
std::map<std::string, std::vector<std::vector<std::string>>> lines_of(const std::string& run,
                                                                      const std::string& nothing,
                                                                      const std::string& trace) {
  return {
      {"run", {{"run", "-o", run + "/out", "--", nothing}, {"run", "--mode", kHostile, "--", "true"}}},
      {"report",
       {{"report", run},
        {"report", "--all", run},
        {"report", run, kHostile},
        {"report", "--json", run},
        {"report", nothing}}},
      {"diff", {{"diff", run, run}, {"diff", "--json", run, run}, {"diff", run, nothing}}},
      {"explain", {{"explain", "unexplained", run}, {"explain", "--json", "unexplained", run}, {"explain", kHostile}}},
      {"schema", {{"schema", kHostile}}},
      {"export",
       {{"export", run, "--csv", run + "/table.csv"},
        {"export", run, "--chrome", run + "/line.json"},
        {"export", run, "--perfetto", run + "/line.pftrace"},
        {"export", nothing, "--csv", run + "/none.csv"}}},
      {"import", {{"import", "-o", run + "/imported", "--kineto", nothing}, {"import", "-o", run, "--csv", nothing}}},
      {"dump", {{"dump", run}, {"dump", "--json", run}, {"dump", nothing}, {"dump", trace}}},
      {"recover", {{"recover", run}, {"recover", nothing}}},
      {"hooks", {{"hooks", run}, {"hooks", nothing}}},
      {"ctl", {{"ctl", "1", kHostile}, {"ctl", "1", "set", kHostile}, {"ctl", "1", "stop", kHostile}}},
      {"stacks", {{"stacks", nothing}}},
      {"top", {{"top", nothing}}},
      {"job", {{"job", nothing}}},
      {"agent", {{"agent", kHostile}}},
      {"sched", {{"sched", "-o", run, "--all", "--cpus", kHostile}, {"sched", "-o", run, "--pid", kHostile}}},
      {"options", {{"options", kHostile}}},
      {"doctor", {{"doctor", kHostile}}},
  };
}

TEST_F(Terminal, IsNotSteeredByWhatOthersNamed) {
  const auto lines = lines_of(run(), nothing(), folder_.file(trace()));
  std::istringstream script(hostprobe({"completion"}).out);
  std::string text;
  while (std::getline(script, text) && text.find("compgen -W \"") == std::string::npos) {
  }
  std::istringstream commands(text.substr(text.find("\"") + 1));
  std::string command;
  int seen = 0;
  while (commands >> command && command != "--help") {
    ++seen;
    ASSERT_TRUE(lines.contains(command)) << command << " has no line here that makes it print a foreign name";
    for (const std::vector<std::string>& words : lines.at(command)) expect_clean(words, true);
    expect_clean({command, std::string("--") + kHostile}, true);
  }
  EXPECT_GE(seen, 7);
}

TEST_F(Terminal, IsNotSteeredByTheNameOfACommand) {
  expect_clean({kHostile}, true);
  expect_clean({std::string("--") + kHostile}, true);
}

}  // namespace
}  // namespace hostprobe::test
