// Settings from the environment, good and bad.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "probe/runtime/options.h"
#include "probe/runtime/say.h"
#include "settings/profile_rule.h"

namespace hostprobe::probe {
namespace {

std::vector<char*> environment(std::vector<std::string>& entries) {
  std::vector<char*> pointers;
  for (std::string& e : entries) pointers.push_back(e.data());
  pointers.push_back(nullptr);
  return pointers;
}

void read(std::vector<std::string> entries) { read_options(environment(entries).data()); }

std::string complaints(std::vector<std::string> entries) {
  testing::internal::CaptureStderr();
  remember_stderr();
  report_bad_options(environment(entries).data());
  return testing::internal::GetCapturedStderr();
}

TEST(Options, HaveTheirDefaults) {
  read({});
  EXPECT_EQ(g_options.buffer_mb, 16u);
  EXPECT_EQ(g_options.stack_us, 1000u);
  EXPECT_STREQ(g_options.target, "auto");
  EXPECT_FALSE(g_options.off);
  EXPECT_EQ(g_options.out[0], '/') << "relative folders are fixed to where the program started";
}

TEST(Options, ARuleOfProfileWindowsIsReadAsAWhole) {
  ProfileRule rule;
  ASSERT_TRUE(parse_profile_rule("every=500,steps=7", rule));
  EXPECT_EQ(rule.every, 500u);
  EXPECT_EQ(rule.steps, 7u);
  EXPECT_EQ(rule.slow, 0u);
  ASSERT_TRUE(parse_profile_rule("slow=1.5,every=1000000000,steps=100", rule));
  EXPECT_EQ(rule.slow, 1500u);
  ASSERT_TRUE(parse_profile_rule("slow=2", rule));
  EXPECT_EQ(rule.steps, kUsualProfiledSteps);
  ASSERT_TRUE(parse_profile_rule("none", rule));
  EXPECT_FALSE(rule.asks());
  for (const char* text : {"", "often", "none,every=9", "every=", "every=4", "every=5,steps=4", "every=-9", "slow=1",
                           "slow=1.04", "slow=1.5x", "steps=3", "every=20,steps=0", "every=200,steps=101", "every=20,",
                           ",every=20", "every=20 ,steps=3", "every=20000000000000000000000000000"})
    EXPECT_FALSE(parse_profile_rule(text, rule)) << text;
}

TEST(Options, ABadRuleIsReportedAndNoWindowIsWished) {
  read({"HOSTPROBE_PROFILE=every=2"});
  EXPECT_STREQ(g_options.profile, "none");
  EXPECT_NE(complaints({"HOSTPROBE_PROFILE=every=2"}).find("not none, nor every=N"), std::string::npos);
  read({"HOSTPROBE_PROFILE=every=20"});
  EXPECT_STREQ(g_options.profile, "every=20");
  EXPECT_EQ(complaints({"HOSTPROBE_PROFILE=every=20"}), "");
}

TEST(Options, AreTakenFromTheEnvironment) {
  read({"HOSTPROBE_BUFFER_MB=4", "HOSTPROBE_OUT=/tmp/x", "HOSTPROBE_OFF=1", "HOSTPROBE_TARGET=python*,a.out"});
  EXPECT_EQ(g_options.buffer_mb, 4u);
  EXPECT_STREQ(g_options.out, "/tmp/x");
  EXPECT_TRUE(g_options.off);
  EXPECT_STREQ(g_options.target, "python*,a.out");
}

TEST(Options, BadValuesGiveTheDefault) {
  for (const char* bad : {"", "0", "-1", "abc", "4x", "99999999999999999999999", " 4", "1025"}) {
    read({std::string("HOSTPROBE_BUFFER_MB=") + bad});
    EXPECT_EQ(g_options.buffer_mb, 16u) << bad;
  }
  read({"HOSTPROBE_OUT=" + std::string(5000, 'x')});
  EXPECT_LT(std::string(g_options.out).size(), kTextBytes);
}

TEST(Options, BadValuesAreReportedWithTheDefault) {
  std::string said = complaints({"HOSTPROBE_BUFFER_MB=many"});
  EXPECT_NE(said.find("HOSTPROBE_BUFFER_MB=many cannot be used"), std::string::npos) << said;
  EXPECT_NE(said.find("16"), std::string::npos) << said;
}

TEST(Options, UnknownNamesAreReportedWithTheNearest) {
  std::string said = complaints({"HOSTPROBE_BUFER_MB=4", "PATH=/bin"});
  EXPECT_NE(said.find("HOSTPROBE_BUFER_MB is not a setting"), std::string::npos) << said;
  EXPECT_NE(said.find("nearest one is HOSTPROBE_BUFFER_MB "), std::string::npos) << said;
}

TEST(Options, UnknownNamesFarFromAllAreGivenNoNearest) {
  for (const char* far : {"HOSTPROBE_FOO=1", "HOSTPROBE_X=1", "HOSTPROBE_=1", "HOSTPROBE_SOMETHING_ELSE=1"}) {
    std::string said = complaints({far});
    EXPECT_NE(said.find("is not a setting"), std::string::npos) << said;
    EXPECT_EQ(said.find("nearest"), std::string::npos) << said;
  }
}

TEST(Options, GoodOnesAreNotReported) {
  EXPECT_EQ(complaints({"HOSTPROBE_BUFFER_MB=4", "HOSTPROBE_OUT=/tmp/x", "HOSTPROBE_LAUNCHED=7", "HOME=/"}), "");
}

TEST(Options, OverlongNamesDoNoHarm) {
  std::string said = complaints({"HOSTPROBE_" + std::string(3000, 'A') + "=1", "HOSTPROBE_"});
  EXPECT_NE(said.find("is not a setting"), std::string::npos);
}

}  // namespace
}  // namespace hostprobe::probe
