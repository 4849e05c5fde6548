// One record a line: analysis/dump.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "export/dump/dump.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

using nlohmann::json;
using test::TraceFile;

class Dumping : public testing::Test {
 protected:
  Dumping() {
    kernel_ = strings_.add("my \"kernel\"");
    file_.hooks({test::wait_hook("sem_wait"), test::launch_hook("cuLaunchKernel")});
    file_.module(0x1000, 0x2000, "/usr/lib/libx.so");
    file_.strings(strings_);
  }
  std::string dump(DumpForm form) {
    file_.write(folder_.file("h-4242-1.hptrace"));
    std::string text;
    const auto problems = dump_run(folder_.path().string(), form, [&text](std::string_view part) { text += part; });
    EXPECT_TRUE(problems.empty());
    return text;
  }
  std::vector<json> lines() {
    std::istringstream in(dump(DumpForm::kJson));
    std::vector<json> objects;
    for (std::string line; std::getline(in, line);) objects.push_back(json::parse(line));
    return objects;
  }
  test::TestFolder folder_;
  test::StringArea strings_;
  TraceFile file_;
  std::uint32_t kernel_ = 0;
};

TEST_F(Dumping, LaunchHasEveryArgumentInItsOwnForm) {
  file_.calls(4242, 0,
              {{.hook = 2,
                .begin_us = 3,
                .end_us = 5,
                .a = kernel_,
                .b = pack_dim(100'000, 2, 65'535),
                .c = pack_dim(32, 4, 1),
                .d = 0xdead,
                .e = 48 << 10}});
  const json line = lines().at(0);
  EXPECT_EQ(line["pid"], 4242);
  EXPECT_EQ(line["tid"], 4242);
  EXPECT_EQ(line["role"], "main");
  EXPECT_EQ(line["function"], "cuLaunchKernel");
  EXPECT_EQ(line["begin_ns"], test::kStartMonotonicNs + 3000);
  EXPECT_EQ(line["duration_ns"], 2000);
  EXPECT_EQ(line["args"]["kernel"], "my \"kernel\"");
  EXPECT_EQ(line["args"]["grid"], json({100'000, 2, 65'535}));
  EXPECT_EQ(line["args"]["block"], json({32, 4, 1}));
  EXPECT_EQ(line["args"]["stream"], "0xdead");
  EXPECT_EQ(line["args"]["shared_bytes"], 48 << 10);
}

TEST_F(Dumping, WaitNamesItsWakerAndItsCaller) {
  file_.thread(test::thread_entry(9, "pt_gloo_runloop"));
  file_.calls(4242, 0,
              {{.hook = 1,
                .begin_us = 0,
                .end_us = 100,
                .a = 0x77,
                .b = pack_post(9, test::at_us(95)),
                .c = 0x1100,
                .d = static_cast<std::uint64_t>(-1),
                .flags = kRecordFailed}});
  const json line = lines().at(0);
  EXPECT_EQ(line["args"]["waker"], json({{"tid", 9}, {"role", "gloo"}, {"wake_ns", 5000}}));
  EXPECT_EQ(line["args"]["site"], "libx.so+0x100");
  EXPECT_EQ(line["args"]["result"], -1);
  EXPECT_EQ(line["failed"], true);
  EXPECT_FALSE(line.contains("timed_out"));
}

TEST_F(Dumping, UnknownArgumentsAreNull) {
  file_.calls(4242, 0, {{.hook = 2, .begin_us = 0, .end_us = 1}, {.hook = 1, .begin_us = 2, .end_us = 3}});
  EXPECT_TRUE(lines().at(0)["args"]["kernel"].is_null());
  EXPECT_TRUE(lines().at(1)["args"]["waker"].is_null());
  EXPECT_TRUE(lines().at(1)["args"]["site"].is_null());
}

TEST_F(Dumping, RecordsAreInTimeOrderAndLossesInTheirPlace) {
  file_.calls(4242, 0, {{.begin_us = 10, .end_us = 20}, {.begin_us = 5, .end_us = 30}});
  file_.calls(4242, 7, {{.begin_us = 40, .end_us = 41}});
  const auto all = lines();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0]["duration_ns"], 25'000);
  EXPECT_EQ(all[1]["duration_ns"], 10'000);
  EXPECT_EQ(all[2]["lost"], 5);
  EXPECT_EQ(all[2]["tid"], 4242);
  EXPECT_FALSE(all[2].contains("function"));
  EXPECT_EQ(all[3]["duration_ns"], 1'000);
}

TEST_F(Dumping, RecordOfAHookThatTheTableLacksIsNotHidden) {
  file_.calls(4242, 0, {{.hook = 40, .begin_us = 0, .end_us = 1}});
  EXPECT_EQ(lines().at(0)["function"], "hook_40");
}

TEST_F(Dumping, TextHasOneLineARecord) {
  file_.calls(4242, 0,
              {{.hook = 2, .begin_us = 3, .end_us = 5, .a = kernel_, .b = pack_dim(1, 2, 3)},
               {.hook = 1, .begin_us = 6, .end_us = 7}});
  const std::string text = dump(DumpForm::kText);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_NE(text.find("cuLaunchKernel(kernel=my \"kernel\", grid=[1,2,3]"), std::string::npos) << text;
}

}  // namespace
}  // namespace hostprobe::analysis
