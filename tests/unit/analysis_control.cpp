// What ctl reads: the table of segments, and the answer to "status".
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "live/control_link.h"
#include "live/process_segment.h"
#include "live/status.h"

namespace hostprobe::analysis {
namespace {

constexpr char kTable[] =
    "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime\n"
    "         0         10  1600              20000000   700   700      1     0     0     0     0 1795254000\n"
    "         0         11  1600              20000000   700   700      0     0     0     0     0 1795254000\n"
    "         0         12  1600              20000000    70   700      2     0     0     0     0 1795254000\n"
    "-123456789  123456789   666                     8   700    70      3  1000  1000  1000  1000 1795254000\n"
    "cut short 13\n";

TEST(SegmentTable, GivesTheAttachedSegmentsThatAProcessMade) {
  std::istringstream table(kTable);
  EXPECT_EQ(segments_made_by(table, 700), (std::vector<int>{10, 123456789}));
}

TEST(SegmentTable, OfNobodyOrWithoutATableIsEmpty) {
  std::istringstream table(kTable), empty;
  EXPECT_TRUE(segments_made_by(table, 7).empty());
  EXPECT_TRUE(segments_made_by(empty, 700).empty());
}

TEST(ProcessState, IsRunningForOneselfAndNothingForNobody) {
  EXPECT_EQ(process_state(getpid()), 'R');
  EXPECT_EQ(process_state(0), 0);
  EXPECT_EQ(process_state(-5), 0);
  EXPECT_EQ(process_state(0x7fffffff), 0);
}

constexpr char kAnswer[] =
    "mode flight\nrecording 0\nsince_ns 1795254000999999999\nrecords 1234567\nlost 3\nthreads 12\nbuffer_bytes "
    "1572864\n"
    "buffer_most_bytes 16777216\nsteps_from detected\nsteps 3215\nstep_ns 201000000\nown_cost 143\nset "
    "stack_us=1000\nset budget=0.5\ntrigger_number 2\n"
    "trigger_ns 1795254000000000000\ntrigger_reason slow_step\ntrigger_text step 12 took 300 ms\n";

TEST(ProcessStatus, IsTextForPeople) {
  EXPECT_EQ(status_text(42, parse_status(kAnswer)),
            "process 42 · mode flight · paused since 2026-11-21T09:40:00Z\n"
            "records 1 234 567 · lost 3 · threads 12 · buffer 1.5 of 16 MiB · own cost 0.143 %\n"
            "steps 3 215, as calls repeat · median of the last 201 ms\n"
            "last trigger 2026-11-21T09:40:00Z: slow step: step 12 took 300 ms (2 so far)\n"
            "set stack_us=1000 budget=0.5\n");
}

TEST(ProcessStatus, IsADocumentForScripts) {
  const auto json = nlohmann::json::parse(status_json(42, parse_status(kAnswer)));
  EXPECT_EQ(json.at("recording"), false);
  EXPECT_EQ(json.at("own_cost_pct"), 0.143);
  EXPECT_EQ(json.at("steps").at("source"), "detected");
  EXPECT_EQ(json.at("steps").at("count"), 3215);
  EXPECT_EQ(json.at("settings").at("stack_us"), 1000);
  EXPECT_EQ(json.at("settings").at("budget"), 0.5);
  EXPECT_EQ(json.at("last_trigger").at("text"), "step 12 took 300 ms");
}

TEST(ProcessStatus, SettingsThatAreNumbersOfJsonAreNumbersInTheDocument) {
  for (const char* text : {"0",     "-0",     "-5",  "007", "1.50",   "-0.5e-3", "2E+2", "1e3", "18446744073709551616",
                           "1e999", "-1e999", "",    "-",   ".5",     "1.",      "1.e5", "1e",  "1e+-5",
                           "+1",    "0x10",   "inf", "nan", "12 MiB", "all"}) {
    const auto number = nlohmann::json::parse(text, nullptr, false);
    const auto said =
        nlohmann::json::parse(status_json(1, parse_status(std::string("set x=") + text))).at("settings").at("x");
    EXPECT_EQ(said.dump(), (number.is_number() ? number : nlohmann::json(text)).dump());
  }
}

// It comes out of memory that another process writes.
TEST(ProcessStatus, OfNonsenseIsHarmless) {
  const ProcessStatus status =
      parse_status("set\nset x\nset a=\xff\ntrigger_number 1\ntrigger_text \x1b[31m\xc3\nrecords -5\n\n  \n");
  EXPECT_EQ(status.number("records"), 0u);
  EXPECT_EQ(status_text(1, status).find('\x1b'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(status_json(1, status)).at("triggers"), 1);
  EXPECT_EQ(nlohmann::json::parse(status_json(1, parse_status(""))).at("last_trigger"), nullptr);
}

}  // namespace
}  // namespace hostprobe::analysis
