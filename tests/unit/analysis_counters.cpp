// Calls of which only counters are left (modes monitor and flight): what every question makes of them, alone and beside records.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/process.h"
#include "analysis/run_answer.h"
#include "report/json/json.h"
#include "support/counters.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using nlohmann::json;
using test::Call;
using test::SumsLook;
using test::TraceFile;

constexpr std::uint64_t kLibX = 0x100000, kComm = 0xc0ffee;
constexpr std::uint32_t kMain = 4242;
enum Hooks : std::uint16_t { kSem = 1, kLaunch, kGraph, kSync, kAllReduce, kYield, kStep, kRead };

class SumAnswers : public testing::Test {
 protected:
  SumAnswers() { make(file_, kMain, 0); }
  static void make(TraceFile& file, std::uint32_t pid, int rank) {
    file.header.pid = pid;
    file.header.rank = rank;
    test::set_text(file.header.mode, "flight");
    const std::vector<std::string> nccl = {"comm:hex", "count", "call:nccl", "stream:hex", "place:ranks"};
    file.hooks(
        {test::wait_hook("sem_wait"),
         test::launch_hook("cuLaunchKernel"),
         {.name = "cuGraphLaunch",
          .family = Family::kCuda,
          .labels = {"graph:hex", "nodes", "site:code", "stream:hex", "kernels"},
          .blocking = false,
          .launch = true},
         test::sync_hook("cuStreamSynchronize"),
         {.name = "ncclAllReduce", .family = Family::kNccl, .labels = nccl, .blocking = false},
         {.name = "sched_yield", .family = Family::kThread, .labels = {"cpu", "", "site:code"}, .blocking = false},
         {.name = "hostprobe_step", .family = Family::kPython, .labels = {"number"}, .blocking = false},
         test::wait_hook("read")});
    file.module(kLibX, kLibX + 0x1000, "/x/libx.so");
    file.thread(test::thread_entry(pid, "main"));
  }
  void counters(const SumsLook& look) { file_.block(kBlockCounters, test::sums_row(look)); }
  Trace read() {
    file_.write(folder_.file("h-1-1.hptrace"));
    return read_trace(folder_.file("h-1-1.hptrace"));
  }
  ProcessAnswer ask() { return analyse_process(read(), symbols_); }
  json report() {
    file_.write(folder_.file("h-1-1.hptrace"));
    return json::parse(report_json(analyse_run(folder_.path().string(), {})));
  }
  static Call all_reduce(std::uint32_t sequence, int rank, double begin_us, std::uint16_t flags = 0) {
    return {.hook = kAllReduce,
            .begin_us = begin_us,
            .end_us = begin_us + 3,
            .a = kComm,
            .b = 256,
            .c = pack_nccl_call(sequence, 0, 7, 0),
            .e = pack_nccl_ranks(rank, 2, -1),
            .flags = flags};
  }
  test::TestFolder folder_;
  TraceFile file_;
  Symbols symbols_;
};

TEST_F(SumAnswers, OfWaitsComeWithPercentilesAndTheThreadThatWoke) {
  file_.thread(test::thread_entry(9, "worker"));
  counters({.tid = kMain,
            .site = kLibX + 1,
            .counters = {{20'000, 40'000, 60'000}, {2'000, 4'000}},
            .amount = 1,
            .waker = 9});
  const ProcessAnswer answer = ask();
  ASSERT_EQ(answer.waits.size(), 1u);
  const WaitSite& site = answer.waits[0];
  EXPECT_EQ(site.function, "sem_wait");
  EXPECT_EQ(site.library, "libx.so");
  EXPECT_EQ(site.time.count(), 3u);
  EXPECT_DOUBLE_EQ(site.time.total_ns(), 60'000);
  EXPECT_DOUBLE_EQ(site.time.max_ns(), 30'000);
  EXPECT_NEAR(site.time.percentile_ns(50), 20'000, 1000);
  EXPECT_EQ(site.wake.count(), 2u);
  EXPECT_EQ(site.main_waker_thread().tid, 9u);
  EXPECT_EQ(site.timed_out, 1u);
  EXPECT_EQ(site.code.at(0).count, 3u);
  EXPECT_DOUBLE_EQ(answer.threads[0].time.wait_ms, 0.057) << "without what was behind the wakes";
  EXPECT_EQ(answer.records, 3u);
  EXPECT_EQ(answer.hooks.at(kSem - 1).calls, 3u);
}

TEST_F(SumAnswers, OfReadsFromFilesStayApartFromOthers) {
  counters({.tid = kMain, .hook = kRead, .site = kLibX + 1, .counters = {{1000}}});
  counters({.tid = kMain, .hook = kRead, .site = kLibX + 1, .counters = {{9000, 9000}}, .object = kRecordFile});
  const ProcessAnswer answer = ask();
  ASSERT_EQ(answer.waits.size(), 2u);
  EXPECT_EQ(answer.waits[0].function, "read (file)");
  EXPECT_EQ(answer.waits[0].time.count(), 2u);
  EXPECT_EQ(answer.waits[1].function, "read");
}

TEST_F(SumAnswers, OfLaunchesThatRanNothingHoldNoKernels) {
  counters({.tid = kMain, .hook = kLaunch, .counters = {{4000}}});
  counters({.tid = kMain, .hook = kLaunch, .counters = {{4000, 4000}}, .object = kRecordCaptured});
  counters({.tid = kMain, .hook = kLaunch, .counters = {{4000}}, .object = kRecordFailed});
  const json launches = report()["processes"].at(0)["launches"];
  EXPECT_EQ(launches["count"], 4);
  EXPECT_EQ(launches["kernels"], 1);
  EXPECT_EQ(launches["captured"], 2);
}

TEST_F(SumAnswers, OfGraphsThatNobodySawMadeHoldAnUnknownNumberOfKernels) {
  counters({.tid = kMain, .hook = kLaunch, .counters = {{4000}}});
  counters({.tid = kMain, .hook = kGraph, .counters = {{4000}}, .object = kKernelsUnknown});
  EXPECT_TRUE(report()["processes"].at(0)["launches"]["kernels"].is_null());
}

TEST_F(SumAnswers, OfLaunchesHoldCallsAndGaps) {
  counters({.tid = kMain, .hook = kLaunch, .counters = {{4000, 4000, 8000}, {20'000, 30'000}}});
  counters({.tid = kMain, .hook = kGraph, .counters = {{10'000}, {50'000}}, .amount = 7});
  const json launches = report()["processes"].at(0)["launches"];
  EXPECT_EQ(launches["count"], 4);
  EXPECT_EQ(launches["kernels"], 10) << "7 of them a graph's";
  EXPECT_EQ(launches["by_function"]["cuLaunchKernel"], 3);
  EXPECT_EQ(launches["by_function"]["cuGraphLaunch"], 1);
  EXPECT_EQ(launches["gaps"], 3);
  EXPECT_NEAR(launches["gap_p50_us"].get<double>(), 15, 0.75);
  EXPECT_DOUBLE_EQ(launches["gap_max_us"].get<double>(), 25);
  EXPECT_NEAR(launches["call_p50_us"].get<double>(), 2, 0.1);
  EXPECT_DOUBLE_EQ(launches["call_total_ms"].get<double>(), 0.013);
  EXPECT_EQ(launches["gaps_unknown"], 0);
}

TEST_F(SumAnswers, OfTheSameLaunchesAndTheirRecordsCountOnceAndLeaveNoGapOpen) {
  counters({.tid = kMain, .hook = kLaunch, .counters = {{4000, 4000}, {16'000}}});
  file_.calls(kMain, 0,
              {{.hook = kLaunch, .begin_us = 0, .end_us = 2, .flags = kRecordAggregated},
               {.hook = kLaunch, .begin_us = 10, .end_us = 12, .flags = kRecordAggregated},
               {.hook = kLaunch, .begin_us = 20, .end_us = 22}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.launches.call.count(), 3u);
  EXPECT_EQ(answer.launches.gap.count(), 2u);
  EXPECT_DOUBLE_EQ(answer.launches.gap.total_ns(), 16'000);
  EXPECT_EQ(answer.records, 3u);
  EXPECT_EQ(answer.summed_only, 0u);
  EXPECT_DOUBLE_EQ(answer.whole_since_ms.value(), 0);
}

TEST_F(SumAnswers, WhatADumpKeptIsSeenCallByCallWhereNothingIsMissingBehindIt) {
  counters({.tid = kMain, .hook = kLaunch, .counters = {std::vector<std::uint64_t>(5, 4000), {16'000}}});
  file_.calls(kMain, 3,
              {{.hook = kLaunch, .begin_us = 100, .end_us = 102, .flags = kRecordAggregated},
               {.hook = kLaunch, .begin_us = 200, .end_us = 202, .flags = kRecordAggregated}});
  file_.calls(kMain, 5, {{.hook = kLaunch, .begin_us = 500, .end_us = 502}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.summed_only, 3u);
  EXPECT_DOUBLE_EQ(answer.whole_since_ms.value(), 0.102);
}

TEST_F(SumAnswers, AThreadThatHasRestedSinceADumpSaysNothingOfTheOthers) {
  file_.thread(test::thread_entry(8, "other", 9));
  counters({.tid = 8, .counters = {std::vector<std::uint64_t>(9, 4000)}});
  file_.calls(8, 0, {{.begin_us = 100, .end_us = 102, .flags = kRecordAggregated}});
  file_.calls(kMain, 0, {{.begin_us = 10, .end_us = 20}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.summed_only, 8u);
  EXPECT_DOUBLE_EQ(answer.whole_since_ms.value(), 0);
}

TEST_F(SumAnswers, RecordsThatAreOnlyInThemAreNotLostAndTheGapBehindThemIsNotGuessed) {
  counters({.tid = kMain, .hook = kLaunch, .counters = {std::vector<std::uint64_t>(5, 4000), {16'000}}});
  file_.calls(kMain, 0, {{.hook = kLaunch, .begin_us = 0, .end_us = 2, .flags = kRecordAggregated}});
  file_.calls(kMain, 5, {{.hook = kLaunch, .begin_us = 500, .end_us = 502}});
  const ProcessAnswer answer = ask();
  EXPECT_EQ(answer.lost, 0u);
  EXPECT_EQ(answer.summed_only, 4u);
  EXPECT_EQ(answer.launches.call.count(), 6u);
  EXPECT_EQ(answer.launches.gap.count(), 1u);
  EXPECT_EQ(answer.launches.gaps_unknown, 0u);
  EXPECT_DOUBLE_EQ(answer.whole_since_ms.value(), 0.502);
}

// Thread 8 has all its calls since the beginning, main only the later ones.
TEST_F(SumAnswers, CallByCallIsSeenSinceTheLastThreadIsWhole) {
  counters({.tid = kMain, .counters = {{4000, 4000}}});
  file_.calls(kMain, 2, {{.begin_us = 100, .end_us = 400'000}, {.begin_us = 400'010, .end_us = 500'000}});
  file_.calls(8, 0, {{.begin_us = 10, .end_us = 20}});
  const ProcessAnswer answer = ask();
  EXPECT_DOUBLE_EQ(answer.whole_since_ms.value(), 400) << "a long call says nothing about what was called meanwhile";
  EXPECT_DOUBLE_EQ(report()["processes"].at(0)["whole_since_s"].get<double>(), 0.4);
}

TEST_F(SumAnswers, LossesBesideThemAreCounted) {
  counters({.tid = kMain, .counters = {{4000, 4000}}});
  file_.thread(test::thread_entry(kMain, "main", 10));
  file_.calls(kMain, 7, {{.begin_us = 0, .end_us = 2}});
  const Trace trace = read();
  EXPECT_EQ(trace.records(), 3u);
  EXPECT_EQ(trace.lost(), 7u);
}

TEST_F(SumAnswers, OfSynchronisationsComeByFunction) {
  file_.calls(kMain, 2, {{.hook = kSync, .begin_us = 0, .end_us = 50}});
  counters({.tid = kMain, .hook = kSync, .site = kLibX + 1, .counters = {{2'000'000, 1'000'000}}});
  const json syncs = report()["processes"].at(0)["syncs"];
  EXPECT_EQ(syncs["count"], 3);
  EXPECT_DOUBLE_EQ(syncs["total_ms"].get<double>(), 1.55);
  EXPECT_EQ(syncs["by_function"]["cuStreamSynchronize"], 3);
}

TEST_F(SumAnswers, SummedRecordsStillTellStacksButNoTime) {
  test::StringArea strings;
  const auto frame = strings.add("get (queue.py:180)");
  file_.strings(strings);
  file_.stack(0, {kLibX + 5}, {frame});
  file_.calls(kMain, 0, {{.begin_us = 0, .end_us = 1000, .c = kLibX + 1, .flags = kRecordAggregated, .stack = 1}});
  counters({.tid = kMain, .site = kLibX + 1, .counters = {{2'000'000}}});
  const ProcessAnswer answer = ask();
  ASSERT_EQ(answer.waits.size(), 1u);
  EXPECT_EQ(answer.waits[0].time.count(), 1u);
  EXPECT_DOUBLE_EQ(answer.waits[0].time.total_ns(), 1'000'000);
  EXPECT_EQ(answer.waits[0].python.at(0).text, "get (queue.py:180)");
  EXPECT_DOUBLE_EQ(answer.threads[0].time.wait_ms, 1);
}

TEST_F(SumAnswers, OfCollectivesAloneGiveCountBytesAndTimeButNoSkew) {
  TraceFile other;
  make(other, 77, 1);
  for (const auto& [file, tid] : {std::pair{&file_, kMain}, std::pair{&other, 77u}})
    file->block(kBlockCounters, test::sums_row({.tid = tid,
                                                .hook = kAllReduce,
                                                .site = kLibX + 1,
                                                .counters = {{6000, 6000, 6000}},
                                                .object = kComm,
                                                .amount = 3072}));
  other.write(folder_.file("h-2-1.hptrace"));
  const json answers = report()["collectives"];
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0]["op"], "AllReduce");
  EXPECT_EQ(answers[0]["comm"], "0000000000c0ffee");
  EXPECT_EQ(answers[0]["count"], 3);
  EXPECT_EQ(answers[0]["bytes"], 3072);
  EXPECT_EQ(answers[0]["ranks"], 2);
  EXPECT_NEAR(answers[0]["host_p50_us"].get<double>(), 3, 0.15);
  EXPECT_TRUE(answers[0]["skew_p50_us"].is_null());
  EXPECT_TRUE(answers[0]["last"].is_null());
}

TEST_F(SumAnswers, OfCollectivesAddToRecordsAndSkewComesFromAllRecords) {
  TraceFile other;
  make(other, 77, 1);
  file_.calls(kMain, 0, {all_reduce(2, 0, 100, kRecordAggregated), all_reduce(3, 0, 200)});
  counters({.tid = kMain, .hook = kAllReduce, .counters = {{6000, 6000}}, .object = kComm, .amount = 2048});
  other.calls(77, 0, {all_reduce(2, 1, 104, kRecordAggregated), all_reduce(3, 1, 204)});
  other.block(
      kBlockCounters,
      test::sums_row({.tid = 77, .hook = kAllReduce, .counters = {{6000, 6000}}, .object = kComm, .amount = 2048}));
  other.write(folder_.file("h-2-1.hptrace"));
  const json one = report()["collectives"].at(0);
  EXPECT_EQ(one["count"], 3);
  EXPECT_EQ(one["bytes"], 3072);
  EXPECT_EQ(one["ranks"], 2);
  EXPECT_NEAR(one["skew_p50_us"].get<double>(), 4, 0.2);
  EXPECT_EQ(one["last"]["rank"], 1);
  EXPECT_DOUBLE_EQ(one["last"]["share_pct"].get<double>(), 100);
}

TEST_F(SumAnswers, OfProgressThreadsAreStalls) {
  file_.thread(test::thread_entry(8, "NCCL Progress 0"));
  counters({.tid = 8, .hook = kYield, .site = kLibX + 1, .counters = {{200'000, 400'000}}});
  file_.calls(8, 0, {{.hook = kYield, .begin_us = 0, .end_us = 100, .c = kLibX + 1, .flags = kRecordAggregated}});
  const ProcessAnswer answer = ask();
  ASSERT_EQ(answer.progress.size(), 1u);
  EXPECT_EQ(answer.progress[0].stalls, 2u);
  EXPECT_DOUBLE_EQ(answer.progress[0].stall_ms, 0.3);
  EXPECT_EQ(answer.progress[0].poll.count(), 2u);
}

TEST_F(SumAnswers, OfMarkedStepsAndTheirRecordsAreTheStepsOfTheRun) {
  counters({.tid = kMain, .hook = kStep, .site = kLibX + 1, .counters = {{20'000'000, 20'000'000}}});
  file_.calls(kMain, 2, {{.hook = kStep, .begin_us = 0, .end_us = 30'000, .a = 3}});
  file_.calls(9, 0, {{.hook = kStep, .begin_us = 0, .end_us = 90'000, .a = 3}});
  const json steps = report()["steps"];
  EXPECT_EQ(steps["source"], "marks");
  EXPECT_EQ(steps["count"], 3) << "the thread with the most marks speaks for the process";
  EXPECT_NEAR(steps["median_ms"].get<double>(), 10, 0.5);
  EXPECT_DOUBLE_EQ(steps["max_ms"].get<double>(), 30);
}

TEST_F(SumAnswers, WithoutMarksThereAreNoSteps) {
  const json steps = report()["steps"];
  EXPECT_EQ(steps["source"], "none");
  EXPECT_EQ(steps["count"], 0);
  for (const char* key : {"median_ms", "p99_ms", "max_ms"}) EXPECT_TRUE(steps[key].is_null()) << key;
}

// The one of docs/reference/format.md, word by word.
TEST_F(SumAnswers, WorkedExampleOfTheFormatPageIsReadAsItSays) {
  const CounterRow row{{std::uint64_t{5} << 48, test::at_us(0), 7, 0, 4, 0, {1600, 1000}, {5200, 5000}}, 0, 0};
  file_.block(kBlockCounters,
              test::bytes_of(row) + test::bytes_of(std::vector<std::uint64_t>{0x20013, 0x10030, 0x1800a, 0x18054}));
  const SiteSum sum = read().threads.at({7, test::at_us(0)}).counters.at({pack_place(0, 5), 0});
  EXPECT_EQ(sum.time.count(), 3u);
  EXPECT_EQ(sum.wake.count(), 2u);
  for (const auto& [spans, ticks] : {std::pair{&sum.time, std::vector<std::uint64_t>{300, 1000}},
                                     std::pair{&sum.wake, std::vector<std::uint64_t>{200, 5000}}})
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(spans->buckets.at(i).first, test::bucket_by_definition(ticks[i]));
}

TEST_F(SumAnswers, OfALaterRowReplaceThoseOfAnEarlierOneWhateverTheOrder) {
  counters({.tid = kMain, .site = kLibX + 1, .counters = {{200, 300}}});
  counters({.tid = kMain, .site = kLibX + 1, .counters = {{200}}});
  EXPECT_EQ(ask().waits.at(0).time.count(), 2u);
}

TEST_F(SumAnswers, OfUnknownHooksAreKeptOutOfEveryAnswer) {
  counters({.tid = kMain, .hook = 500, .counters = {{200}}});
  const ProcessAnswer answer = ask();
  EXPECT_TRUE(answer.damages.empty());
  EXPECT_TRUE(answer.waits.empty());
  EXPECT_EQ(answer.records, 1u);
}

TEST_F(SumAnswers, RowsThatDoNotFitAreDamage) {
  const SumsLook look{.tid = kMain, .site = kLibX + 1, .counters = {{200, 90'000}}};
  const std::string row = test::sums_row(look);
  std::string no_bucket = row, no_count = row, many = row;
  no_bucket.replace(sizeof(CounterRow), 8, test::bytes_of(kSpanBuckets | std::uint64_t{1} << 16));
  no_count.replace(sizeof(CounterRow), 8, test::bytes_of(std::uint64_t{3}));
  many.replace(offsetof(SiteRow, bucket_count), 4, test::bytes_of(0xffffffffu));
  const SumsLook hookless{.tid = kMain, .hook = 0, .site = kLibX + 1, .counters = {{200}}};
  const std::vector<std::string> bad = {
      row.substr(0, row.size() - 8), row.substr(0, sizeof(SiteRow)), row + "12345678", no_bucket, no_count, many,
      test::sums_row(hookless)};
  for (const std::string& payload : bad) file_.block(kBlockCounters, payload);
  EXPECT_EQ(ask().damages.size(), bad.size());
}

}  // namespace
}  // namespace hostprobe::analysis
