// Launches, gaps between them, and synchronisations: analysis/launches.cpp, analysis/syncs.cpp
#include <gtest/gtest.h>

#include "analysis/process.h"
#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::TraceFile;

class LaunchAnswers : public testing::Test {
 protected:
  LaunchAnswers() {
    file_.hooks({test::launch_hook("cuLaunchKernel"),
                 test::launch_hook("cuGraphLaunch"),
                 test::sync_hook("cuStreamSynchronize"),
                 test::launch_hook("cuLaunchKernelEx_ptsz"),
                 {.name = "cuGraphLaunch",
                  .family = Family::kCuda,
                  .labels = {"graph:hex", "nodes", "site:code", "stream:hex", "kernels"},
                  .launch = true}});
    file_.thread(test::thread_entry(4242, "main"));
  }
  ProcessAnswer ask() {
    file_.write(folder_.file("t.hptrace"));
    return analyse_process(read_trace(folder_.file("t.hptrace")), symbols_);
  }
  test::TestFolder folder_;
  TraceFile file_;
  Symbols symbols_;
};

TEST_F(LaunchAnswers, GapRunsFromTheEndOfACallToTheStartOfTheNext) {
  file_.calls(4242, 0,
              {{.hook = 1, .begin_us = 0, .end_us = 2},
               {.hook = 4, .begin_us = 7, .end_us = 8},
               {.hook = 2, .begin_us = 28, .end_us = 30}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.launches.call.count(), 3u);
  EXPECT_EQ(answer.launches.kernels, std::nullopt) << "nobody knows how many kernels this graph holds";
  EXPECT_EQ(answer.launches.gap.count(), 2u);
  EXPECT_DOUBLE_EQ(answer.launches.gap.total_ns(), 25'000);
  EXPECT_DOUBLE_EQ(answer.launches.gap.max_ns(), 20'000);
  EXPECT_EQ(answer.launches.by_function.at("cuLaunchKernelEx_ptsz"), 1u);
  EXPECT_DOUBLE_EQ(answer.launches.span_ms, 0.030);
}

// A graph of 4 nodes and 3 kernels; one that nobody saw made.
constexpr test::Call kGraph{.hook = 5, .begin_us = 40, .end_us = 41, .b = 4, .e = 3};
constexpr test::Call kUnknownGraph{.hook = 5, .begin_us = 50, .end_us = 51};

TEST_F(LaunchAnswers, KernelsAreThoseThatRan) {
  file_.calls(4242, 0,
              {{.hook = 1, .begin_us = 0, .end_us = 2},
               {.hook = 1, .begin_us = 7, .end_us = 8, .flags = kRecordCaptured},
               {.hook = 1, .begin_us = 9, .end_us = 10, .flags = kRecordFailed},
               kGraph,
               kGraph});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.launches.kernels, 7u);
  EXPECT_EQ(answer.launches.captured, 1u);
  EXPECT_EQ(answer.launches.by_function.at("cuLaunchKernel"), 3u) << "calls are calls";
}

TEST_F(LaunchAnswers, KernelsOfAnUnknownGraphAreNotGuessed) {
  file_.calls(4242, 0, {{.hook = 1, .begin_us = 0, .end_us = 2}, kGraph, kUnknownGraph});
  EXPECT_EQ(ask().launches.kernels, std::nullopt);
}

TEST_F(LaunchAnswers, WhatACaptureTookEndsNoGap) {
  file_.calls(4242, 0,
              {{.hook = 1, .begin_us = 0, .end_us = 2},
               {.hook = 1, .begin_us = 7, .end_us = 8, .flags = kRecordCaptured},
               {.hook = 1, .begin_us = 30, .end_us = 31}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.launches.gap.count(), 1u);
  EXPECT_DOUBLE_EQ(answer.launches.gap.max_ns(), 28'000);
  EXPECT_EQ(answer.launches.call.count(), 2u);
}

TEST_F(LaunchAnswers, GapsAreOfOneThread) {
  file_.calls(4242, 0, {{.hook = 1, .begin_us = 0, .end_us = 1}, {.hook = 1, .begin_us = 10, .end_us = 11}});
  file_.calls(9, 0, {{.hook = 1, .begin_us = 4, .end_us = 5}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.launches.gap.count(), 1u);
  EXPECT_DOUBLE_EQ(answer.launches.gap.max_ns(), 9'000);
}

TEST_F(LaunchAnswers, GapAcrossLostRecordsIsUnknown) {
  file_.calls(4242, 0, {{.hook = 1, .begin_us = 0, .end_us = 1}});
  file_.calls(4242, 5, {{.hook = 1, .begin_us = 10, .end_us = 11}, {.hook = 1, .begin_us = 12, .end_us = 13}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.launches.gap.count(), 1u);
  EXPECT_DOUBLE_EQ(answer.launches.gap.max_ns(), 1'000);
  EXPECT_EQ(answer.launches.gaps_unknown, 1u);
}

// Any record of the thread may say so, here a synchronisation.
TEST_F(LaunchAnswers, GapAcrossLaunchesThatWereLeftOutIsUnknown) {
  file_.calls(4242, 0,
              {{.hook = 1, .begin_us = 0, .end_us = 1},
               {.hook = 3, .begin_us = 500, .end_us = 501, .flags = kRecordAfterSkipped},
               {.hook = 1, .begin_us = 510, .end_us = 511},
               {.hook = 1, .begin_us = 512, .end_us = 513}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.launches.gap.count(), 1u);
  EXPECT_DOUBLE_EQ(answer.launches.gap.max_ns(), 1'000);
  EXPECT_EQ(answer.launches.gaps_unknown, 1u);
}

TEST_F(LaunchAnswers, SynchronisationsAreCountedApartFromWaits) {
  file_.calls(4242, 0, {{.hook = 3, .begin_us = 0, .end_us = 50}, {.hook = 3, .begin_us = 60, .end_us = 70}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.syncs.time.count(), 2u);
  EXPECT_DOUBLE_EQ(answer.syncs.time.total_ns(), 60'000);
  EXPECT_EQ(answer.syncs.by_function.at("cuStreamSynchronize"), 2u);
  EXPECT_TRUE(answer.waits.empty());
  EXPECT_EQ(answer.launches.call.count(), 0u);
}

TEST(Launches, ProcessWithoutADriverHasNoLaunchesToCount) {
  const test::TestFolder folder;
  TraceFile file;
  test::HookLook absent = test::launch_hook("cuLaunchKernel");
  absent.found = false;
  file.hooks({absent});
  file.write(folder.file("t.hptrace"));
  Symbols symbols;
  EXPECT_FALSE(analyse_process(read_trace(folder.file("t.hptrace")), symbols).launches.hooked);
}

}  // namespace
}  // namespace hostprobe::analysis
