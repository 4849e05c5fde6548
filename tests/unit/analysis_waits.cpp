// Waits per site and wake latency: analysis/waits.cpp, analysis/wait_purpose.cpp
#include <gtest/gtest.h>

#include "analysis/process.h"
#include "trace/reader.h"
#include "trace/symbols.h"
#include "unit/analysis_sample_library.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::TraceFile;

constexpr std::uint64_t kLibX = 0x100000, kLibY = 0x200000;
constexpr std::uint32_t kMain = 4242, kOtherThread = 9, kLoop = 10;

class WaitAnswers : public testing::Test {
 protected:
  WaitAnswers() {
    file_.hooks({test::wait_hook("sem_wait"), test::wait_hook("pthread_cond_wait")});
    file_.module(kLibX, kLibX + 0x1000, "/x/libx.so");
    file_.module(kLibY, kLibY + 0x1000, "/y/liby.so.3");
    file_.thread(test::thread_entry(kMain, "main"));
    file_.thread(test::thread_entry(kOtherThread, "worker"));
    file_.thread(test::thread_entry(kLoop, "pt_gloo_runloop"));
  }
  ProcessAnswer ask() {
    file_.strings(strings_);
    file_.write(folder_.file("t.hptrace"));
    return analyse_process(read_trace(folder_.file("t.hptrace")), symbols_);
  }
  static std::uint64_t post(std::uint32_t tid, double us) { return pack_post(tid, test::at_us(us)); }
  test::TestFolder folder_;
  test::StringArea strings_;
  TraceFile file_;
  Symbols symbols_;
};

const WaitSite& site(const ProcessAnswer& answer, const std::string& function, const std::string& library, Role role) {
  for (const WaitSite& wait : answer.waits) {
    if (wait.function == function && wait.library == library && wait.role == role) return wait;
  }
  throw std::runtime_error("no such site");
}

TEST_F(WaitAnswers, SiteIsFunctionLibraryAndRole) {
  file_.calls(kMain, 0,
              {{.begin_us = 0, .end_us = 10, .c = kLibX + 1},
               {.begin_us = 20, .end_us = 50, .c = kLibX + 99},
               {.begin_us = 60, .end_us = 70, .c = kLibY + 1},
               {.hook = 2, .begin_us = 80, .end_us = 90, .c = kLibX + 1}});
  file_.calls(kOtherThread, 0, {{.begin_us = 0, .end_us = 5, .c = kLibX + 1}, {.begin_us = 6, .end_us = 7, .c = 0x42}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.waits.size(), 5u);
  EXPECT_EQ(site(answer, "sem_wait", "libx.so", Role::kMain).time.count(), 2u);
  EXPECT_DOUBLE_EQ(site(answer, "sem_wait", "libx.so", Role::kMain).time.total_ns(), 40'000);
  EXPECT_DOUBLE_EQ(site(answer, "sem_wait", "libx.so", Role::kMain).time.max_ns(), 30'000);
  EXPECT_EQ(site(answer, "sem_wait", "liby.so.3", Role::kMain).time.count(), 1u);
  EXPECT_EQ(site(answer, "pthread_cond_wait", "libx.so", Role::kMain).time.count(), 1u);
  EXPECT_EQ(site(answer, "sem_wait", "libx.so", Role::kOther).time.count(), 1u);
  EXPECT_EQ(site(answer, "sem_wait", "unknown", Role::kOther).time.count(), 1u);
}

TEST_F(WaitAnswers, HeaviestSiteComesFirst) {
  file_.calls(kMain, 0,
              {{.begin_us = 0, .end_us = 10, .c = kLibX + 1}, {.begin_us = 20, .end_us = 90, .c = kLibY + 1}});
  EXPECT_EQ(ask().waits.front().library, "liby.so.3");
}

TEST_F(WaitAnswers, CallThatWasSatisfiedAtOnceIsNoWait) {
  file_.calls(kMain, 0,
              {{.begin_us = 0, .end_us = 10, .c = kLibX + 1, .flags = kRecordAtOnce},
               {.begin_us = 20, .end_us = 30, .c = kLibX + 1}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.waits.front().time.count(), 1u);
  EXPECT_DOUBLE_EQ(answer.threads.front().time.wait_ms, 0.010);
}

TEST_F(WaitAnswers, WakeLatencyRunsFromThePostToTheReturn) {
  file_.calls(kMain, 0,
              {{.begin_us = 0, .end_us = 100, .b = post(kLoop, 93), .c = kLibX + 1},
               {.begin_us = 200, .end_us = 300, .b = post(kLoop, 297), .c = kLibX + 1},
               {.begin_us = 400, .end_us = 500, .b = post(kOtherThread, 480), .c = kLibX + 1}});
  const ProcessAnswer answer = ask();
  const WaitSite& wait = answer.waits.front();
  EXPECT_EQ(wait.wake.count(), 3u);
  EXPECT_DOUBLE_EQ(wait.wake.total_ns(), 30'000);
  EXPECT_DOUBLE_EQ(wait.wake.max_ns(), 20'000);
  EXPECT_EQ(wait.main_waker(), Role::kGloo);
  EXPECT_EQ(wait.wakers.at(Role::kOther), 1u);
}

TEST_F(WaitAnswers, PostFromBeforeTheWaitDidNotWakeIt) {
  file_.calls(kMain, 0, {{.begin_us = 100, .end_us = 200, .b = post(kLoop, 50), .c = kLibX + 1}});
  EXPECT_EQ(ask().waits.front().wake.count(), 0u);
}

TEST_F(WaitAnswers, WaitThatEndedByItsTimeLimitWasNotWoken) {
  file_.calls(kMain, 0,
              {{.begin_us = 0, .end_us = 100, .b = post(kLoop, 50), .c = kLibX + 1, .flags = kRecordTimedOut}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.waits.front().wake.count(), 0u);
  EXPECT_EQ(answer.waits.front().timed_out, 1u);
  EXPECT_EQ(answer.waits.front().time.count(), 1u);
}

TEST_F(WaitAnswers, WakerThatThisTraceDoesNotKnowIsUnknown) {
  file_.calls(kMain, 0, {{.begin_us = 0, .end_us = 100, .b = post(99, 50), .c = kLibX + 1}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.waits.front().unknown_wakers, 1u);
  EXPECT_TRUE(answer.waits.front().wakers.empty());
}

TEST_F(WaitAnswers, WaitInsideAnotherBlockingCallCountsOnceForTheThread) {
  file_.calls(kMain, 0,
              {{.hook = 2, .begin_us = 10, .end_us = 20, .c = kLibX + 1},
               {.hook = 1, .begin_us = 0, .end_us = 100, .c = kLibX + 1}});
  const ProcessAnswer answer = ask();
  EXPECT_DOUBLE_EQ(answer.threads.front().time.wait_ms, 0.100);
}

TEST_F(WaitAnswers, PythonFrameOutsideOfTheLockWrappersIsTold) {
  const auto wait = strings_.add("Condition.wait (threading.py:331)");
  const auto get = strings_.add("Queue.get (queue.py:180)");
  const auto user = strings_.add("main (train.py:9)");
  file_.stack(0, {}, {wait, get, user});
  file_.stack(1, {}, {wait});
  file_.calls(kMain, 0,
              {{.begin_us = 0, .end_us = 900, .c = kLibX + 1, .stack = 1},
               {.begin_us = 1000, .end_us = 1100, .c = kLibX + 1, .stack = 2}});
  const ProcessAnswer answer = ask();
  const WaitSite& site = answer.waits.front();
  ASSERT_EQ(site.python.size(), 2u);
  EXPECT_EQ(site.python[0].text, "Queue.get (queue.py:180)");
  EXPECT_DOUBLE_EQ(site.python[0].total_ms, 0.9);
  EXPECT_EQ(site.python[1].text, "Condition.wait (threading.py:331)");
  EXPECT_EQ(site.stack, (std::vector<std::string>{"Condition.wait (threading.py:331)", "Queue.get (queue.py:180)",
                                                  "main (train.py:9)"}));
  EXPECT_DOUBLE_EQ(site.ms_for(WaitPurpose::kQueue), 0.9);
}

TEST_F(WaitAnswers, LoaderOutsideOfAQueueIsTheDataLoader) {
  const auto get = strings_.add("Queue.get (queues.py:113)");
  const auto next = strings_.add("_next_data (dataloader.py:1300)");
  file_.stack(0, {}, {get, next});
  file_.calls(kMain, 0, {{.begin_us = 0, .end_us = 900, .c = kLibX + 1, .stack = 1}});
  EXPECT_DOUBLE_EQ(ask().waits.front().ms_for(WaitPurpose::kDataLoader), 0.9);
}

TEST_F(WaitAnswers, WhatAForkedWorkerHasOfItsParentsStackSaysNothing) {
  const auto read = strings_.add("Samples.get (train.py:23)"), loop = strings_.add("_worker_loop (worker.py:375)");
  const auto fork = strings_.add("Popen._launch (popen_fork.py:71)");
  const auto made = strings_.add("_MultiProcessingDataLoaderIter.__init__ (dataloader.py:1178)");
  file_.stack(0, {}, {read, loop, fork, made});
  file_.calls(kMain, 0, {{.begin_us = 0, .end_us = 900, .c = kLibX + 1, .stack = 1}});
  EXPECT_EQ(ask().waits.front().ms_for(WaitPurpose::kDataLoader), 0);
}

TEST_F(WaitAnswers, InterpreterLockIsWhatTheInterpreterWaitsForByACondition) {
  const test::SampleLibrary sample;
  sample.add_to(file_);
  const std::uint64_t unnamed = sample.base() + 0x40, named = sample.address("PyEval_RestoreThread") + 4;
  file_.calls(kMain, 0,
              {{.hook = 2, .begin_us = 0, .end_us = 10, .c = named},
               {.hook = 2, .begin_us = 20, .end_us = 80, .c = unnamed},
               {.hook = 2, .begin_us = 100, .end_us = 180, .c = kLibX + 1},
               {.hook = 1, .begin_us = 200, .end_us = 360, .c = named}});  // a lock of the program's
  const ProcessAnswer answer = ask();
  EXPECT_NEAR(site(answer, "pthread_cond_wait", "libpython3.99.so", Role::kMain).ms_for(WaitPurpose::kGil), 0.070,
              1e-9);
  EXPECT_EQ(site(answer, "sem_wait", "libpython3.99.so", Role::kMain).ms_for(WaitPurpose::kGil), 0);
}

}  // namespace
}  // namespace hostprobe::analysis
