// The shared memory of a live or killed process: analysis/segment_copy.cpp and the reader's merge of it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "analysis/reader.h"
#include "analysis/segment_copy.h"
#include "support/trace_file.h"

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
  EXPECT_EQ(trace.last.ticks, test::at_us(2'000'000));
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
      [](SegmentHeader& h) { h.version = 99; }};
  for (std::size_t i = 0; i < spoils.size(); ++i) {
    segment_.header() = good;
    spoils[i](segment_.header());
    std::string why;
    EXPECT_FALSE(copy_segment(segment_.id(), kCookie, why)) << i;
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
    const auto copy = copy_segment(segment_.id(), kCookie, why);
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
