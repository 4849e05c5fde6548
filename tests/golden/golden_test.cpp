// Every later reader reads the traces of earlier versions, and says the same about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/run_answer.h"
#include "export/dump/dump.h"
#include "report/json/json.h"
#include "trace/hook_list.h"

namespace hostprobe::analysis {
namespace {

std::string path_of(const std::string& name) { return std::string(HOSTPROBE_TEST_GOLDEN) + "/" + name; }

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void expect_dump(const std::string& version) {
  std::stringstream said;
  const auto problems =
      dump_run(path_of(version + ".hptrace"), DumpForm::kJson, [&said](std::string_view text) { said << text; });
  EXPECT_THAT(problems, testing::IsEmpty());
  std::ifstream expected(path_of(version + ".dump.jsonl"));
  ASSERT_TRUE(expected);
  EXPECT_EQ(lines_of(said), lines_of(expected));
}

TEST(Golden, DumpOfVersion1IsWhatItAlwaysWas) { expect_dump("version1"); }
TEST(Golden, DumpOfVersion2IsWhatItAlwaysWas) { expect_dump("version2"); }

TEST(Golden, DumpOfVersion3IsWhatItAlwaysWas) { expect_dump("version3"); }

TEST(Golden, DumpOfVersion4IsWhatItAlwaysWas) { expect_dump("version4"); }

TEST(Golden, PackedRecordsOfVersion2AreThoseOfVersion1) {
  std::ifstream first(path_of("version1.dump.jsonl")), second(path_of("version2.dump.jsonl"));
  const auto all = lines_of(second);
  for (const std::string& line : lines_of(first)) EXPECT_THAT(all, testing::Contains(line));
  EXPECT_EQ(all.size(), 210u);
}

TEST(Golden, ReportOfVersion1HasItsNumbers) {
  const auto report = nlohmann::json::parse(report_json(analyse_run(path_of("version1.hptrace"), {})));
  const auto& process = report["processes"].at(0);
  EXPECT_EQ(process["rank"], 1);
  EXPECT_EQ(process["records"], 9);
  EXPECT_EQ(process["lost"], 2);
  EXPECT_DOUBLE_EQ(process["wall_ms"].get<double>(), 1000);
  EXPECT_EQ(process["threads"].at(0)["role"], "main");
  EXPECT_EQ(process["threads"].at(1)["role"], "gloo");
  EXPECT_EQ(process["launches"]["count"], 2);
  EXPECT_NEAR(process["launches"]["gap_p50_us"].get<double>(), 8, 0.4);
  EXPECT_EQ(process["syncs"]["by_function"]["cuStreamSynchronize"], 1);
  const auto& wait = process["waits"].at(0);
  EXPECT_EQ(wait["library"], "libtorch_cpu.so");
  EXPECT_EQ(wait["count"], 2);
  const auto& woken = process["waits"].at(1);
  EXPECT_EQ(woken["python"].at(0)["text"], "Queue.get (queue.py:180)");
  EXPECT_EQ(woken["wake"]["waker_role"], "gloo");
  EXPECT_NEAR(woken["wake"]["p50_us"].get<double>(), 2, 0.1);
}

// Sums, what is left of a dump, and what came after it.
TEST(Golden, ReportOfVersion3CountsEveryCallOnce) {
  const auto report = nlohmann::json::parse(report_json(analyse_run(path_of("version3.hptrace"), {})));
  const auto& process = report["processes"].at(0);
  EXPECT_EQ(report["run"]["mode"], "flight");
  EXPECT_EQ(process["records"], 25);
  EXPECT_EQ(process["lost"], 0);
  EXPECT_EQ(process["launches"]["count"], 4);
  EXPECT_NEAR(process["launches"]["gap_p50_us"].get<double>(), 20, 1);
  const auto& wait = process["waits"].at(0);
  EXPECT_EQ(wait["count"], 21);
  EXPECT_NEAR(wait["p50_us"].get<double>(), 50, 2.5);
  const auto& events = process["events"];
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events.at(0)["reason"], "slow_step");
  EXPECT_EQ(events.at(0)["records"], 3);
  EXPECT_EQ(events.at(1)["refused"], 2);
}

// Its names say nothing, so all this is told by roles.
TEST(Golden, ReportOfVersion4GoesByRoles) {
  const RunAnswer run = analyse_run(path_of("version4.hptrace"), {});
  const auto report = nlohmann::json::parse(report_json(run));
  const auto& process = report["processes"].at(0);
  EXPECT_EQ(report["steps"]["source"], "marks");
  EXPECT_EQ(process["launches"]["count"], 3);
  EXPECT_EQ(process["launches"]["kernels"], 3);
  EXPECT_EQ(process["syncs"]["by_function"]["fifth"], 3);
  EXPECT_EQ(process["gc"]["count"], 1);
  EXPECT_EQ(report["collectives"].at(0)["op"], "sixth");
  std::map<std::string, CallKind> kinds;
  for (const WaitSite& site : run.processes.at(0).waits) kinds[site.function] = site.kind;
  EXPECT_EQ(kinds["first"], CallKind::kSemaphore);
  EXPECT_EQ(kinds["second"], CallKind::kSleep);
}

// The table of names is of the hooks that versions 1 to 3 had. What later ones are it need not know.
TEST(Golden, RowsSayOfEarlierHooksWhatTheirNamesDid) {
  std::size_t known = 0;
  for (const Hook& hook : hooks_of_library(std::string(HOSTPROBE_TEST_BUILD) + "/lib/libhostprobe.so")) {
    const HookRole by_name = role_by_name(hook);
    EXPECT_NE(hook.role, HookRole::kUnsaid) << hook.name;
    EXPECT_EQ(hook.launch, is_launch(hook.role)) << hook.name;
    if (by_name == HookRole::kOther) continue;
    EXPECT_EQ(hook.traits, traits_by_name(hook)) << hook.name;
    EXPECT_EQ(hook.role, by_name) << hook.name;
    ++known;
  }
  EXPECT_GE(known, 240u);
}

}  // namespace
}  // namespace hostprobe::analysis
