// Runs that no program should make, and readers that go away: a whole screen or page, or one line that says why not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/trace_file.h"
#include "unit/cli_command.h"

namespace hostprobe::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kWidth = 80, kLines = 24;

// Characters of UTF-8, without the bytes that continue one.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

HookLook step_hook() {
  return {.name = "hostprobe_step", .family = Family::kPython, .labels = {"number"}, .blocking = false};
}

class BadInput : public testing::Test {
 protected:
  std::string run() const { return folder_.path().string(); }
  void write(const TraceFile& file) const { file.write(folder_.file("h-4242-1.hptrace")); }

  void expect_a_screen() const {
    const Said said = hostprobe({"report", run()}, {"COLUMNS=80", "LC_ALL=C.UTF-8"});
    EXPECT_EQ(said.status, 0) << said.err;
    std::istringstream lines(said.out);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(columns(line), kWidth) << line.substr(0, 200);
    EXPECT_LT(count, kLines) << said.out.substr(0, 4000);
  }
  std::string page() const {
    const std::string path = folder_.file("page.html");
    const Said said = hostprobe({"report", run(), "--html", path});
    EXPECT_EQ(said.status, 0) << said.err;
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  nlohmann::json document() const {
    const Said said = hostprobe({"report", run(), "--json"});
    EXPECT_EQ(said.status, 0) << said.err;
    return nlohmann::json::parse(said.out, nullptr, false);
  }

  TestFolder folder_;
};

// A wait that takes most of the run and two steps, all with this name.
TraceFile trace_named(const std::string& name) {
  TraceFile file;
  file.header.rank = 0;
  set_text(file.header.command, name);
  set_text(file.header.program, name);
  set_text(file.header.host, name);
  file.hooks({wait_hook("sem_wait"), step_hook()});
  StringArea strings;
  const std::uint32_t id = strings.add(name + " (" + name + ".py:7)");
  file.strings(strings);
  file.stack(0, {}, {id});
  file.module(0x100000, 0x200000, "/x/" + name);
  file.thread(thread_entry(4242, name));
  std::vector<Call> calls;
  for (int step = 0; step < 40; ++step) {
    const double at_us = 100 + 20'000.0 * step;
    calls.push_back({.begin_us = at_us, .end_us = at_us + 18'000, .c = 0x100001, .stack = 1});
    calls.push_back({.hook = 2, .begin_us = at_us, .end_us = at_us + 19'000, .a = static_cast<std::uint64_t>(step)});
  }
  file.calls(4242, 0, calls);
  return file;
}

TEST_F(BadInput, NamesOfFourKibibytesAreCutWhereTheyAreShown) {
  write(trace_named(std::string(4096, 'n')));
  expect_a_screen();
  EXPECT_THAT(page(), HasSubstr("</html>"));
  EXPECT_FALSE(document().is_discarded());
}

TEST_F(BadInput, NamesThatAreNoTextOrTurnItsDirectionAreShownAsText) {
  write(trace_named("a\xff\xc3<b>&\u202e\x1b[2J\"'"));
  expect_a_screen();
  const std::string text = hostprobe({"report", run(), "--all"}).out;
  for (const char* part : {"\xff", "\u202e", "\x1b"}) EXPECT_THAT(text, Not(HasSubstr(part)));
  // The document in it is data, whose strings stay what they are.
  const std::string whole = page(), shown = whole.substr(0, whole.find("id=\"document\""));
  for (const char* part : {"\xff", "\u202e", "\x1b", "<b>&"}) EXPECT_THAT(shown, Not(HasSubstr(part)));
  EXPECT_FALSE(document().is_discarded());
}

TEST_F(BadInput, ARunWithoutStepsSaysSo) {
  TraceFile file;
  file.header.rank = 0;
  file.hooks({wait_hook("sem_wait")});
  file.thread(thread_entry(4242, "main"));
  write(file);
  expect_a_screen();
  EXPECT_THAT(page(), HasSubstr("</html>"));
  EXPECT_EQ(document().at("steps").at("count"), 0);
}

TEST_F(BadInput, AMillionStepsAreAScreenAndAPageThatCanBeSent) {
  constexpr std::uint64_t kSteps = 1'000'000, kTogether = 100'000;
  TraceFile file;
  file.header.rank = 0;
  file.header.last = clock_at_us(100.0 * static_cast<double>(kSteps));
  file.hooks({wait_hook("sem_wait"), step_hook()});
  file.thread(thread_entry(4242, "main"));
  for (std::uint64_t first = 0; first < kSteps; first += kTogether) {
    std::vector<Call> calls;
    for (std::uint64_t step = first; step < first + kTogether; ++step) {
      const double at_us = 100.0 * static_cast<double>(step);
      calls.push_back({.hook = 2, .begin_us = at_us, .end_us = at_us + 90, .a = step});
    }
    file.calls(4242, first, calls);
  }
  write(file);
  expect_a_screen();
  EXPECT_LT(page().size(), 5'000'000u);
  EXPECT_GE(document().at("steps").at("count"), kSteps - 1);
}

TEST_F(BadInput, AReaderThatGoesAwayEndsItWithALineAtMost) {
  write(trace_named("main"));
  const std::string command = HOSTPROBE_TEST_COMMAND, said = folder_.file("said");
  for (const char* words : {"report RUN --all", "report RUN --json", "dump RUN", "options", "--help"}) {
    std::string line = words;
    if (const std::size_t at = line.find("RUN"); at != std::string::npos) line.replace(at, 3, run());
    // The reader is gone before anything is written.
    const std::string whole = "{ sleep 0.1; " + command + " " + line + " 2> " + said + "; } | true";
    EXPECT_EQ(std::system(whole.c_str()), 0) << words;
    std::ostringstream text;
    text << std::ifstream(said).rdbuf();
    const std::string all = text.str();
    EXPECT_LE(std::count(all.begin(), all.end(), '\n'), 1) << words << ": " << all;
  }
}

}  // namespace
}  // namespace hostprobe::test
