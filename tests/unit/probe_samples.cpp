// Samples of running threads before they are in the file: sources/sample_rows.cpp, and the kernel's memory they come from: sources/perf/perf_ring.cpp.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "probe/runtime/clock.h"
#include "probe/sources/perf/perf_ring.h"
#include "probe/sources/sample_rows.h"
#include "probe/writer/file/trace_file.h"
#include "probe_fakes.h"
#include "trace/reader.h"

namespace hostprobe::probe {
namespace {

class SampleRows : public testing::Test {
 protected:
  static SampleRow row(std::uint64_t ticks, std::uint32_t tid = 7) {
    return {ticks, tid, kSampleCode, 0, 0x1000, 0, 50000};
  }
  static std::vector<SampleRow> written() {
    g_header.last = read_clock_pair();
    write_header();
    close_file();
    const analysis::Trace trace = analysis::read_trace(g_file.path);
    std::vector<SampleRow> rows;
    for (const analysis::BlockBytes& block : trace.samples)
      for (std::uint64_t at = 0; at < block.count; at += sizeof(SampleRow))
        std::memcpy(&rows.emplace_back(), block.bytes + at, sizeof(SampleRow));
    return rows;
  }
  Folder folder_;
  Recording recording_{folder_.path.c_str()};
};

TEST_F(SampleRows, AreInTheFileOnceAndInOrder) {
  for (std::uint64_t i = 0; i < 10; ++i) keep_sample(row(100 + i));
  write_samples();
  write_samples();
  keep_sample(row(200));
  write_samples();
  const std::vector<SampleRow> rows = written();
  ASSERT_EQ(rows.size(), 11u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(rows[i].ticks, 100 + i);
  EXPECT_EQ(rows.back().ticks, 200u);
  EXPECT_EQ(rows.back().running_us, 50000u);
}

TEST_F(SampleRows, ThatFindNoPlaceDriveTheOldestOut) {
  constexpr std::uint32_t kMore = kSampleRows / 2 + 3;
  for (std::uint64_t i = 0; i < kSampleRows + kMore; ++i) keep_sample(row(1 + i));
  write_samples();
  const std::vector<SampleRow> rows = written();
  ASSERT_EQ(rows.size(), kSampleRows);
  EXPECT_EQ(rows.front().ticks, 1u + kMore);
  for (std::size_t i = 1; i < rows.size(); ++i) ASSERT_EQ(rows[i].ticks, rows[i - 1].ticks + 1) << i;
}

TEST_F(SampleRows, ThatAreTooOldForADumpAreLeftOut) {
  const std::uint64_t now = ticks();
  keep_sample(row(now > 3'000'000'000'000 ? now - 3'000'000'000'000 : 1));
  keep_sample(row(now));
  write_samples(1'000'000'000'000);
  const std::vector<SampleRow> rows = written();
  ASSERT_EQ(rows.size(), now > 3'000'000'000'000 ? 1u : 2u);
  EXPECT_EQ(rows.back().ticks, now);
}

TEST_F(SampleRows, ThatTheFileDoesNotTakeAreThereTheNextTime) {
  keep_sample(row(5));
  const int fd = g_file.fd;
  g_file.fd = -1;
  write_samples();
  g_file.fd = fd;
  g_file.error = 0;
  write_samples();
  EXPECT_EQ(written().size(), 1u);
}

// The memory that the kernel would write.
class PerfRings : public testing::Test {
 protected:
  PerfRings() { ring_.page = reinterpret_cast<perf_event_mmap_page*>(memory_); }
  // As the kernel does: at data_head, round the end.
  void put(const void* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      memory_[page_bytes() + (ring_.page->data_head + i) % page_bytes()] = static_cast<const char*>(bytes)[i];
    ring_.page->data_head += count;
  }
  void put_record(std::uint64_t value, std::uint16_t bytes = 24) {
    struct {
      perf_event_header header;
      std::uint64_t words[2];
    } record = {{PERF_RECORD_SAMPLE, 0, bytes}, {value, ~value}};
    put(&record, bytes);
  }
  struct Taken {
    perf_event_header header;
    std::uint64_t words[2];
  };
  bool take(Taken& taken) { return take_perf_record(ring_, reinterpret_cast<char*>(&taken), sizeof taken); }

  alignas(8) char memory_[2 * kMostPageBytes] = {};
  PerfRing ring_;
};

TEST_F(PerfRings, AreReadRecordByRecordRoundTheEnd) {
  Taken taken;
  EXPECT_FALSE(take(taken));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    put_record(i);
    put_record(i + 1);
    ASSERT_TRUE(take(taken));
    EXPECT_EQ(taken.words[0], i);
    ASSERT_TRUE(take(taken));
    EXPECT_EQ(taken.words[0], i + 1);
    EXPECT_EQ(taken.words[1], ~(i + 1));
    ASSERT_FALSE(take(taken));
  }
  EXPECT_EQ(ring_.page->data_tail, ring_.page->data_head);
}

TEST_F(PerfRings, GiveAShortRecordFilledWithZerosAndALongOneCut) {
  Taken taken;
  put_record(9, 16);
  ASSERT_TRUE(take(taken));
  EXPECT_EQ(taken.words[0], 9u);
  EXPECT_EQ(taken.words[1], 0u);
  const std::vector<char> rest(40, 'x');
  const perf_event_header header{PERF_RECORD_LOST, 0, 48};
  put(&header, sizeof header);
  put(rest.data(), rest.size());
  put_record(11);
  ASSERT_TRUE(take(taken));
  EXPECT_EQ(taken.header.type, static_cast<std::uint32_t>(PERF_RECORD_LOST));
  ASSERT_TRUE(take(taken));
  EXPECT_EQ(taken.words[0], 11u);
}

TEST_F(PerfRings, OfWhichARecordMakesNoSenseAreLeftAsEmpty) {
  Taken taken;
  for (const std::uint16_t bytes : {0, 7, 4000}) {
    const perf_event_header header{PERF_RECORD_SAMPLE, 0, bytes};
    put(&header, sizeof header);
    EXPECT_FALSE(take(taken)) << bytes;
    EXPECT_FALSE(take(taken)) << bytes;
    put_record(3);
    ASSERT_TRUE(take(taken)) << bytes;
    EXPECT_EQ(taken.words[0], 3u);
  }
}

TEST(PerfRing, ThatIsNotOpenHoldsNothing) {
  PerfRing ring;
  char out[8];
  EXPECT_FALSE(take_perf_record(ring, out, sizeof out));
  close_perf_ring(ring);
}

TEST(PerfRing, OfAThreadThatIsNotThereIsRefusedWithTheReason) {
  PerfRing ring;
  perf_event_attr event{};
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_TASK_CLOCK;
  event.exclude_kernel = 1;
  EXPECT_NE(open_perf_ring(ring, event, 0x7ffffff0), 0);
  EXPECT_EQ(ring.page, nullptr);
}

}  // namespace
}  // namespace hostprobe::probe
