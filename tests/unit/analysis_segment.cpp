// The shared memory of a live or killed process: analysis/segment_copy.cpp and the reader's merge of it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "support/counters.h"
#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/segment_copy.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::TraceFile;
using test::TraceSegment;

constexpr std::uint64_t kCookie = 0x1122334455667788;

std::vector<Call> calls(std::uint64_t first, int count) {
  std::vector<Call> result;
  for (int i = 0; i < count; ++i) {
    const auto number = first + static_cast<std::uint64_t>(i);
    result.push_back({.begin_us = 10.0 * static_cast<double>(number),
                      .end_us = 10.0 * static_cast<double>(number) + 1,
                      .d = number});
  }
  return result;
}

class OpenTrace : public testing::Test {
 protected:
  OpenTrace() {
    file_.header.state = kFileOpen;
    file_.belongs_to(getpid(), current_boot_id());
    file_.header.cookie = kCookie;
    file_.header.segment_id = segment_.id();
    file_.hooks({test::wait_hook("sem_wait")});
  }
  Trace read() {
    file_.write(path());
    return read_trace(path());
  }
  // Results of the kept records in the order of their running numbers.
  static std::vector<std::uint64_t> numbers(const Trace& trace, std::uint32_t tid) {
    std::vector<std::uint64_t> result;
    for (const Slice& slice : trace.threads.at({tid, test::at_us(0)}).slices) {
      for (const Record& record : slice.records()) result.push_back(record.d);
    }
    return result;
  }
  std::string path() const { return folder_.file("h-1-1.hptrace"); }
  test::TestFolder folder_;
  TraceSegment segment_{kCookie};
  TraceFile file_;
};

TEST_F(OpenTrace, RecordsThatOnlyTheSegmentHoldsAreRead) {
  file_.calls(7, 0, calls(0, 2));
  segment_.fill(0, 7, 2, calls(2, 3));
  segment_.thread(0) = test::thread_entry(7, "worker", 5);
  const Trace trace = read();
  EXPECT_EQ(trace.segment, SegmentState::kRead);
  EXPECT_EQ(numbers(trace, 7), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(trace.lost(), 0u);
  EXPECT_EQ(trace.threads.begin()->second.name, "worker");
  EXPECT_GE(trace.last.ticks, test::at_us(2'000'000)) << "a process that lives, lives now";
}

TEST_F(OpenTrace, RecordsInBothPlacesCountOnce) {
  file_.calls(7, 0, calls(0, 4));
  segment_.fill(0, 7, 2, calls(2, 4));
  EXPECT_EQ(numbers(read(), 7), (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(OpenTrace, DrainedSlotsAreNotReadAgain) {
  file_.calls(7, 0, calls(0, 2));
  segment_.fill(0, 7, 0, calls(0, 4));
  segment_.chunk(0).drained = 2;
  segment_.slot(0, 0).d = 99;  // the file has it; whatever stands here now does not matter
  EXPECT_EQ(numbers(read(), 7), (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

TEST_F(OpenTrace, RecordCutShortByAKillIsUnfinishedNotLost) {
  segment_.fill(0, 7, 0, calls(0, 3));
  segment_.slot(0, 1).hook = 0;
  segment_.thread(0) = test::thread_entry(7, "worker", 3);
  const Trace trace = read();
  EXPECT_EQ(numbers(trace, 7), (std::vector<std::uint64_t>{0, 2}));
  EXPECT_EQ(trace.threads.begin()->second.unfinished, 1u);
  EXPECT_EQ(trace.lost(), 0u);
}

TEST_F(OpenTrace, RecordsOfAnEarlierLapOfTheChunkAreNotRead) {
  segment_.fill(0, 7, 0, calls(0, 3));
  segment_.chunk(0).lap = 2;
  segment_.slot(0, 0).lap = 2;
  EXPECT_EQ(numbers(read(), 7), (std::vector<std::uint64_t>{0}));
}

TEST_F(OpenTrace, FreeChunksAreNotRead) {
  segment_.fill(0, 7, 0, calls(0, 3));
  segment_.chunk(0).state = kChunkFree;
  EXPECT_TRUE(read().threads.empty());
}

// A kill between any two stores leaves either the entries or their sum.
TEST_F(OpenTrace, EntriesAndTheirSumAreNeverReadTogether) {
  segment_.thread(0) = test::thread_entry(7, "ended", 3);
  segment_.thread(0).state = kThreadEnded;
  segment_.thread(0).merged.until = 2;
  ThreadEntry& before = segment_.thread(1) = test::thread_entry(0, "", 10);
  before.state = kThreadMerged;
  before.stands_for = 4;
  before.merged = {1, 2};
  ThreadEntry& sum = segment_.thread(2) = before;
  sum.records = 13;
  sum.stands_for = 5;
  sum.merged = {2, 0};
  segment_.header().merges = 1;
  Trace trace = read();
  EXPECT_EQ(trace.threads.size(), 2u);
  EXPECT_EQ(trace.threads.begin()->second.entry.stands_for, 4u);
  EXPECT_EQ(trace.lost(), 13u);
  segment_.header().merges = 2;
  trace = read();
  EXPECT_EQ(trace.threads.size(), 1u);
  EXPECT_EQ(trace.threads.begin()->second.entry.stands_for, 5u);
  EXPECT_EQ(trace.lost(), 13u);
}

// Its chunk is still there, its entry is not.
TEST_F(OpenTrace, RecordsOfAMergedThreadAreCountedInTheSharedEntry) {
  segment_.thread(0) = test::thread_entry(0, "(ended threads)", 5);
  segment_.thread(0).state = kThreadMerged;
  segment_.thread(0).stands_for = 2;
  segment_.fill(0, 7, 0, calls(0, 3));
  const Trace trace = read();
  EXPECT_EQ(numbers(trace, 7).size(), 3u);
  EXPECT_EQ(trace.records(), 3u);
  EXPECT_EQ(trace.lost(), 2u);
}

TEST_F(OpenTrace, StringsAndStacksOfTheSegmentAreKnown) {
  test::StringArea strings;
  const auto id = strings.add("get (queue.py:180)");
  segment_.strings(strings);
  const std::string stack = test::stack_bytes({0x10}, {id});
  std::memcpy(static_cast<void*>(&segment_.stack(2)), stack.data(), stack.size());
  const Trace trace = read();
  ASSERT_TRUE(trace.stacks.contains(2));
  EXPECT_EQ(trace.strings.text(trace.stacks.at(2).python.at(0)), "get (queue.py:180)");
}

TEST_F(OpenTrace, LossesOfThreadsWithoutAnEntryAreTakenFromTheSegment) {
  segment_.header().lost = 17;
  EXPECT_EQ(read().lost(), 17u);
}

TEST_F(OpenTrace, SegmentOfSomebodyElseIsNotRead) {
  segment_.fill(0, 7, 0, calls(0, 3));
  file_.header.cookie = kCookie + 1;
  const Trace trace = read();
  EXPECT_EQ(trace.segment, SegmentState::kGone);
  EXPECT_TRUE(trace.threads.empty());
}

TEST_F(OpenTrace, SegmentWhoseGeometryDoesNotFitItsSizeIsNotRead) {
  const SegmentHeader good = segment_.header();
  const std::vector<std::function<void(SegmentHeader&)>> spoils = {
      [](SegmentHeader& h) { h.chunk_count = 0xffffffff; },
      [](SegmentHeader& h) { h.chunk_bytes = 1; },
      [](SegmentHeader& h) { h.threads_offset = UINT64_MAX - 63; },
      [](SegmentHeader& h) { h.thread_count = 0x10000000; },
      [](SegmentHeader& h) { h.stack_count = 0xffffffff; },
      [](SegmentHeader& h) { h.strings_bytes = 0xffffffff; },
      [](SegmentHeader& h) { h.chunks_offset += 8; },
      [](SegmentHeader& h) { h.sum_count = 0xffffffff; },
      [](SegmentHeader& h) { h.sum_count = 8; },
      [](SegmentHeader& h) { h.sums_offset = UINT64_MAX - 63; },
      [](SegmentHeader& h) { h.sums_offset += 8; },
      [](SegmentHeader& h) { h.version = 99; }};
  for (std::size_t i = 0; i < spoils.size(); ++i) {
    segment_.header() = good;
    spoils[i](segment_.header());
    std::string why;
    EXPECT_FALSE(copy_segment(segment_.id(), kCookie, {}, why)) << i;
    EXPECT_NE(why, "") << i;
  }
}

TEST_F(OpenTrace, ProcessOfTheTraceIsSeenToLive) { EXPECT_TRUE(read().alive); }

TEST_F(OpenTrace, ClosedTraceDoesNotLookForASegment) {
  segment_.fill(0, 7, 0, calls(0, 3));
  file_.header.state = kFileClosed;
  const Trace trace = read();
  EXPECT_EQ(trace.segment, SegmentState::kNotNeeded);
  EXPECT_TRUE(trace.threads.empty());
}

TEST_F(OpenTrace, AppendInProgressIsNoDamage) {
  file_.thread(test::thread_entry(7, "worker"));
  const std::string bytes = file_.bytes();
  TraceFile::write_bytes(path(), bytes.substr(0, bytes.size() - 20));
  EXPECT_TRUE(read_trace(path()).damages.empty());
}

class AggregationTrace : public OpenTrace {
 protected:
  AggregationTrace() { test::set_text(file_.header.mode, "flight"); }
  // As if its process had been killed.
  void killed() { file_.belongs_to(dead_process(), current_boot_id()); }
  static pid_t dead_process() {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    return child;
  }
  // Numbers of the records that are not in the counters.
  static std::vector<std::uint64_t> not_summed(const Trace& trace) {
    std::vector<std::uint64_t> result;
    for (const Slice& slice : trace.threads.at({7, test::at_us(0)}).slices)
      for (const Record& record : slice.records())
        if (!is_aggregated(record)) result.push_back(record.d);
    return result;
  }
  static std::uint64_t aggregated(const Trace& trace) {
    std::uint64_t count = 0;
    for (const auto& [key, sum] : trace.threads.at({7, test::at_us(0)}).counters) count += sum.time.count();
    return count;
  }
};

TEST_F(AggregationTrace, AggregatedSlotsCountThroughTheirSumsOnly) {
  segment_.fill(0, 7, 10, calls(10, 5));
  segment_.chunk(0).aggregated = 2;
  test::fill_sums(segment_.counters(1),
                  {.tid = 7, .counters = {std::vector<std::uint64_t>(12, 2000)}, .object = 4, .amount = 9});
  segment_.thread(0) = test::thread_entry(7, "worker", 15);
  const Trace trace = read();
  EXPECT_EQ(numbers(trace, 7), (std::vector<std::uint64_t>{10, 11, 12, 13, 14}));
  EXPECT_EQ(not_summed(trace), (std::vector<std::uint64_t>{12, 13, 14}));
  const Thread& thread = trace.threads.begin()->second;
  EXPECT_EQ(thread.kept, 15u);
  EXPECT_EQ(thread.lost, 0u);
  EXPECT_EQ(thread.summed_only, 10u);
  EXPECT_EQ(thread.counters.at({pack_place(0, 1), 4}).amount, 9u);
}

TEST_F(AggregationTrace, HolesBetweenAggregatedSlotsAreLostAndOthersUnfinished) {
  segment_.fill(0, 7, 0, calls(0, 6));
  segment_.slot(0, 1).hook = segment_.slot(0, 4).hook = 0;
  segment_.chunk(0).aggregated = 3;
  test::fill_sums(segment_.counters(0), {.tid = 7, .counters = {{2000, 2000}}});
  segment_.thread(0) = test::thread_entry(7, "worker", 6);
  const Thread thread = read().threads.begin()->second;
  EXPECT_EQ(thread.kept, 4u);
  EXPECT_EQ(thread.unfinished, 1u);
  EXPECT_EQ(thread.lost, 1u);
}

TEST_F(AggregationTrace, AggregatedNumberBeyondTheChunkIsCut) {
  segment_.fill(0, 7, 0, calls(0, 3));
  segment_.chunk(0).aggregated = 0xffffffff;
  test::fill_sums(segment_.counters(0), {.tid = 7, .counters = {{2000, 2000, 2000}}});
  EXPECT_TRUE(not_summed(read()).empty());
  EXPECT_EQ(read().records(), 3u);
}

TEST_F(AggregationTrace, FreeRowsAreNotRead) {
  test::fill_sums(segment_.counters(0), {.tid = 7, .counters = {{2000}}});
  segment_.counters(0).key &= 0xffffffffffff;
  segment_.fill(0, 7, 0, calls(0, 1));
  EXPECT_EQ(aggregated(read()), 0u);
}

// Killed while the third record was being added: its row and its chunk are what they were.
TEST_F(AggregationTrace, WhatAKillLeftHalfAddedIsPutBack) {
  killed();
  segment_.fill(0, 7, 0, calls(0, 4));
  test::fill_sums(segment_.counters(2), {.tid = 7, .counters = {{2000, 2000, 9000}, {300}}, .amount = 50, .waker = 11});
  segment_.chunk(0).aggregated = 3;
  Undo& undo = segment_.header().undo;
  undo = {3,
          0,
          2,
          10,
          40,
          {4000, 2000, static_cast<std::uint32_t>(test::bucket_by_definition(9000)), 0, 0},
          {0, 0, static_cast<std::uint32_t>(test::bucket_by_definition(300)), 0, 0}};
  segment_.header().aggregate_serial = 7;
  const Trace trace = read();
  EXPECT_EQ(not_summed(trace), (std::vector<std::uint64_t>{2, 3}));
  const SiteSum sum = trace.threads.begin()->second.counters.begin()->second;
  EXPECT_EQ(sum.time.count(), 2u);
  EXPECT_EQ(sum.time.ticks, 4000u);
  EXPECT_EQ(sum.time.max_ticks, 2000u);
  EXPECT_EQ(sum.wake.ticks, 0u);
  EXPECT_EQ(site_sum(segment_.counters(2)).wake.count(), 1u) << "the segment itself is not touched";
  EXPECT_EQ(sum.wake.count(), 0u);
  EXPECT_EQ(sum.waker_tid, 10u);
  EXPECT_EQ(sum.amount, 40u);
  EXPECT_EQ(trace.records(), 4u);
}

TEST_F(AggregationTrace, KilledJustNowWhileItsNumberIsOddIsPutBackToo) {
  segment_.fill(0, 7, 0, calls(0, 2));
  test::fill_sums(segment_.counters(0), {.tid = 7, .counters = {{2000, 9000}}});
  segment_.chunk(0).aggregated = 1;
  segment_.header().undo = {
      1, 0, 1, 0, 0, {2000, 2000, static_cast<std::uint32_t>(test::bucket_by_definition(9000)), 0, 0}, {}};
  segment_.header().aggregate_serial = 7;
  const Trace trace = read();
  EXPECT_EQ(aggregated(trace), 1u);
  EXPECT_EQ(trace.records(), 2u);
}

TEST_F(AggregationTrace, UndoThatNamesNothingThereChangesNothing) {
  killed();
  segment_.fill(0, 7, 0, calls(0, 2));
  test::fill_sums(segment_.counters(0), {.tid = 7, .counters = {{2000}}});
  segment_.chunk(0).aggregated = 1;
  const Undo good{1, 0, 0, 0, 0, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}};
  Undo no_row = good, no_chunk = good, no_bucket = good;
  no_row.sum = TraceSegment::kCounters + 1;
  segment_.header().undo = no_row;
  EXPECT_EQ(read().records(), 2u);
  EXPECT_EQ(not_summed(read()), (std::vector<std::uint64_t>{1}));
  no_row.sum = 0xffffffff;
  segment_.header().undo = no_row;
  EXPECT_EQ(aggregated(read()), 1u);
  no_chunk.chunk = 0xffffffff;
  segment_.header().undo = no_chunk;
  EXPECT_EQ(not_summed(read()), (std::vector<std::uint64_t>{1}));
  no_bucket.time.bucket = no_bucket.wake.bucket = 0xffffffff;
  segment_.header().undo = no_bucket;
  EXPECT_EQ(aggregated(read()), 1u);
}

TEST_F(AggregationTrace, DumpThatWasWrittenBeforeItsRecordsWereAggregatedDoesNotHideThem) {
  killed();
  segment_.fill(0, 7, 0, calls(0, 4));
  segment_.chunk(0).aggregated = 1;
  test::fill_sums(segment_.counters(0), {.tid = 7, .counters = {{2000}}});
  TraceFile dump;
  dump.header.cookie = kCookie;
  std::vector<Call> dumped = calls(0, 3);
  for (Call& call : dumped) call.flags = kRecordAggregated;
  dump.calls(7, 0, dumped);
  dump.write(folder_.file("h-1-1-0001.hpdump"));
  const Trace trace = read();
  EXPECT_EQ(not_summed(trace), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(trace.records(), 4u);
}

TEST_F(AggregationTrace, DumpOfALiveProcessMayEndInTheMiddle) {
  TraceFile dump;
  dump.header.cookie = kCookie;
  dump.calls(7, 0, calls(0, 3));
  TraceFile::write_bytes(folder_.file("h-1-1-0001.hpdump"), dump.bytes().substr(0, dump.bytes().size() - 8));
  EXPECT_TRUE(read().damages.empty());
  killed();
  EXPECT_EQ(read().damages.size(), 1u);
}

// Fills a chunk, adds it to the counters in batches, gives it back, and so on.
class AggregationWriter {
 public:
  explicit AggregationWriter(TraceSegment& segment) : segment_(segment), thread_([this] { work(); }) {}
  ~AggregationWriter() {
    stop_ = true;
    thread_.join();
  }
  std::uint64_t made() const { return made_; }

 private:
  void work() {
    for (std::uint64_t first = 0; !stop_; first += 7) {
      fill(first);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      aggregate();
      std::atomic_ref(segment_.chunk(0).state).store(kChunkFree);
      for (std::uint32_t i = 0; i < 7; ++i) std::atomic_ref(segment_.slot(0, i).hook).store(0);
    }
  }
  void fill(std::uint64_t first) {
    const auto lap = static_cast<std::uint16_t>(first / 7 % 60000 + 1);
    ChunkHead& chunk = segment_.chunk(0);
    std::atomic_ref(chunk.first_sequence).store(first);
    std::atomic_ref(chunk.tid).store(7);
    std::atomic_ref(chunk.thread_start_ticks).store(test::at_us(0));
    std::atomic_ref(chunk.aggregated).store(0);
    std::atomic_ref(chunk.lap).store(lap);
    std::atomic_ref(chunk.state).store(kChunkFilling);
    for (std::uint32_t i = 0; i < 7; ++i) {
      Record& record = segment_.slot(0, i);
      made_ = first + i + 1;
      std::atomic_ref(record.d).store(first + i);
      std::atomic_ref(record.lap).store(lap);
      std::atomic_ref(record.hook).store(1);
    }
    std::atomic_ref(chunk.state).store(kChunkFull);
  }
  void aggregate() {
    std::uint64_t& count = segment_.counters(0).time.buckets[40];
    std::atomic_ref serial(segment_.header().aggregate_serial);
    for (std::uint32_t i = 0; i < 7; ++i) {
      if (i % 3 == 0) ++serial;
      std::atomic_ref(count).store(count + 1);
      std::atomic_ref(segment_.chunk(0).aggregated).store(i + 1);
      if (i % 3 == 2 || i == 6) ++serial;
    }
  }

  TraceSegment& segment_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> made_{0};
  std::thread thread_;
};

// Every call of the thread is counted once, in the counters or as a record, whatever the moment.
TEST_F(AggregationTrace, NothingCountsTwiceOrNotAtAllWhileTheWriterAggregates) {
  file_.write(path());
  test::fill_sums(segment_.counters(0), {.tid = 7});
  AggregationWriter writer(segment_);
  for (int i = 0; i < 300; ++i) {
    std::string why;
    const std::uint64_t before = writer.made();
    const auto copy = copy_segment(segment_.id(), kCookie, {true, true}, why);
    const std::uint64_t after = writer.made();
    ASSERT_TRUE(copy);
    const std::uint64_t in_sums = copy->counters.at(0).time.buckets[40];
    std::uint64_t expected = in_sums;
    for (const SegmentRun& run : copy->runs) {
      for (std::size_t at = 0; at < run.records.size(); at += sizeof(Record)) {
        Record record;
        std::memcpy(static_cast<void*>(&record), run.records.data() + at, sizeof(record));
        ASSERT_EQ(record.d, run.first_sequence + at / sizeof(Record));
        ASSERT_EQ(is_aggregated(record), record.d < in_sums)
            << "number " << record.d << " with " << in_sums << " in counters";
        if (is_aggregated(record)) continue;
        ASSERT_EQ(record.d, expected++);
      }
    }
    // What was made since the chunks were copied may be in neither.
    EXPECT_GE(expected + 7, before);
    EXPECT_LE(expected, after);
  }
}

// A writer that hands chunks on while they are copied: every copied record must be one that was written whole.
TEST_F(OpenTrace, ChunksThatChangeOwnerWhileCopiedGiveNoMixedRecords) {
  file_.write(path());
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::uint64_t first = 0;
    while (!stop) {
      ChunkHead& chunk = segment_.chunk(0);
      std::atomic_ref(chunk.state).store(kChunkFree);
      for (std::uint32_t i = 0; i < 7; ++i) std::atomic_ref(segment_.slot(0, i).hook).store(0);
      std::atomic_ref(chunk.first_sequence).store(first);
      std::atomic_ref(chunk.tid).store(7);
      std::atomic_ref(chunk.thread_start_ticks).store(test::at_us(0));
      std::atomic_ref(chunk.lap).store(static_cast<std::uint16_t>(first / 7 + 1));
      std::atomic_ref(chunk.state).store(kChunkFilling);
      for (std::uint32_t i = 0; i < 7; ++i) {
        Record& record = segment_.slot(0, i);
        std::atomic_ref(record.a).store(first + i);
        std::atomic_ref(record.e).store(first + i);
        std::atomic_ref(record.lap).store(static_cast<std::uint16_t>(first / 7 + 1));
        std::atomic_ref(record.hook).store(1);
      }
      first += 7;
    }
  });
  for (int i = 0; i < 2000; ++i) {
    std::string why;
    const auto copy = copy_segment(segment_.id(), kCookie, {}, why);
    ASSERT_TRUE(copy);
    for (const SegmentRun& run : copy->runs) {
      for (std::size_t at = 0; at < run.records.size(); at += sizeof(Record)) {
        Record record;
        std::memcpy(static_cast<void*>(&record), run.records.data() + at, sizeof(record));
        ASSERT_EQ(record.a, record.e);
        ASSERT_EQ(record.a, run.first_sequence + at / sizeof(Record));
      }
    }
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace hostprobe::analysis
