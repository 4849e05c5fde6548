// regions: parts of its time and numbers that a program names through include/hostprobe/hostprobe.h, in each mode.
#include <gtest/gtest.h>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

class Regions : public testing::TestWithParam<const char*> {
 protected:
  Pair pair_{{.program = "names_regions", .probe = {{"HOSTPROBE_MODE", GetParam()}}}};

  nlohmann::json region(const nlohmann::json& answers, const std::string& name) const {
    for (const auto& process : answers.at("processes"))
      for (const auto& one : process.value("regions", nlohmann::json::array()))
        if (one.at("name") == name) return one;
    return {{"count", 0}};
  }
};

TEST_P(Regions, AreTheSameProgramWithAndWithoutTheProbe) {
  expect_same(pair_);
  for (const auto& line : pair_.bare.truth()) EXPECT_EQ(line.at(1), "0") << line.at(0);
  std::string said;
  for (const auto& line : pair_.probed.truth()) said += line.at(0) + " " + line.at(1) + " ";
  EXPECT_EQ(said, "outer 40 inner 40 marks 41 steps 5 ");
}

TEST_P(Regions, AreCountedByName) {
  const nlohmann::json answers = report(pair_.run());
  EXPECT_EQ(region(answers, "outer")["count"], 40);
  EXPECT_EQ(region(answers, "inner \"1\"")["count"], 40);
  EXPECT_EQ(region(answers, "never ended")["count"], 0);
  EXPECT_EQ(region(answers, "loss")["count"], 0) << "a mark is no region";
  EXPECT_GE(region(answers, "outer")["total_ms"], 4.0) << "each slept for 0.1 ms";
  EXPECT_EQ(answers.at("steps").at("count"), 5);
  EXPECT_EQ(lost_count(answers), 0u);
}
INSTANTIATE_TEST_SUITE_P(Modes, Regions, testing::Values("trace", "flight", "monitor"),
                         [](const auto& each) { return std::string(each.param); });

TEST(RegionRecords, LieInsideEachOtherAndMarksKeepTheirNumber) {
  Pair pair({.program = "names_regions", .probe = {{"HOSTPROBE_MODE", "trace"}}});
  const Dump calls = dump(pair.run());
  std::vector<Call> outer, inner;
  for (const Call& call : calls.of("hostprobe_region")) (call.text("name") == "outer" ? outer : inner).push_back(call);
  ASSERT_EQ(outer.size(), 40u);
  ASSERT_EQ(inner.size(), 40u);
  for (std::size_t i = 0; i < outer.size(); ++i) {
    EXPECT_LE(outer[i].begin_ns, inner[i].begin_ns);
    EXPECT_LE(inner[i].begin_ns + inner[i].duration_ns, outer[i].begin_ns + outer[i].duration_ns + 1) << "rounded";
    EXPECT_NE(outer[i].text("site").find("names_regions"), std::string::npos);
  }
  const std::vector<Call> marks = calls.of("hostprobe_mark");
  ASSERT_EQ(marks.size(), 41u);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(marks[static_cast<std::size_t>(i)].args.at("value"), 1.5 - i);
    EXPECT_EQ(marks[static_cast<std::size_t>(i)].duration_ns, 0);
  }
  EXPECT_TRUE(marks[40].args.at("value").is_null()) << "JSON has no such number";
}

}  // namespace
}  // namespace hostprobe::test
