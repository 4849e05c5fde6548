// Packed blocks in a file, from bytes that were written down by hand: the worked example of probe/pack.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "model/ordered_records.h"
#include "support/trace_file.h"
#include "trace/reader.h"

namespace hostprobe::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kRows[] = "\x4b\x25\x48\xd0\x07\x2c\x01\xc8\xfa\x2c\x01\x2c\x01\x05\x00\x01\x0e\x01\x04";
constexpr std::uint32_t kTid = 7;

std::string example(std::uint64_t first_sequence, std::uint32_t slots = 3, std::uint32_t count = 3,
                    std::uint16_t codec = kCodecNone) {
  RecordsHead head{};
  head.thread_start_ticks = test::at_us(0);
  head.first_sequence = first_sequence;
  head.tid = kTid;
  head.slots = slots;
  head.count = count;
  return test::bytes_of(head) + test::bytes_of(PackedHead{10, 6, 19, codec, 0}) + std::string(kRows, 19);
}

// The same, with its rows compressed.
std::string compressed(const std::string& block) {
  const std::size_t rows = sizeof(RecordsHead) + sizeof(PackedHead);
  std::string stored(ZSTD_compressBound(block.size() - rows), 0);
  stored.resize(ZSTD_compress(stored.data(), stored.size(), block.data() + rows, block.size() - rows, 1));
  PackedHead head{10, 6, static_cast<std::uint32_t>(stored.size()), kCodecZstd, 0};
  stored.resize((stored.size() + 7) / 8 * 8);
  return block.substr(0, sizeof(RecordsHead)) + test::bytes_of(head) + stored;
}

class Packed : public testing::Test {
 protected:
  Trace read() {
    file_.write(path());
    return read_trace(path());
  }
  std::string path() const { return folder_.file("testhost-4242-1.hptrace"); }
  const Thread& thread(const Trace& trace) const { return trace.threads.at({kTid, test::at_us(0)}); }

  test::TestFolder folder_;
  test::TraceFile file_;
};

TEST_F(Packed, RecordsAreReadAsTheyWere) {
  file_.block(kBlockPackedRecords, example(0));
  const Trace trace = read();
  EXPECT_THAT(trace.damages, IsEmpty());
  const Records records = thread(trace).slices.at(0).records();
  ASSERT_THAT(records, SizeIs(3));
  const std::uint64_t truth[3][3] = {{1000, 1300, 7}, {1400, 1650, 9}, {1800, 2100, 9}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(records[i].begin_ticks, truth[i][0]);
    EXPECT_EQ(records[i].end_ticks, truth[i][1]);
    EXPECT_EQ(records[i].a, truth[i][2]);
    EXPECT_EQ(records[i].hook, 5);
    EXPECT_EQ(records[i].b | records[i].c | records[i].d | records[i].e | records[i].flags | records[i].stack, 0u);
  }
  EXPECT_EQ(thread(trace).slices.at(0).least_begin_ticks, 1000u);
}

TEST_F(Packed, WhatIsHeldExpandedIsBoundedAndChangesNothing) {
  for (std::uint64_t i = 0; i < 4; ++i) file_.block(kBlockPackedRecords, compressed(example(3 * i)));
  file_.write(path());
  for (const std::size_t most : {std::size_t{0}, std::size_t{600}, std::size_t{1} << 20}) {
    MemoryBudget budget(most);
    {
      const Trace trace = read_trace(path(), &budget);
      EXPECT_EQ(thread(trace).kept, 12u);
      std::size_t held = 0;
      for (const Slice& slice : thread(trace).slices) {
        held += slice.expanded != nullptr;
        EXPECT_EQ(slice.records().at(2).begin_ticks, 1800u);
      }
      EXPECT_EQ(held, most == 0 ? 0u : most == 600 ? 2u : 4u);
    }
    EXPECT_TRUE(budget.take(most));  // all of it came back
    EXPECT_FALSE(budget.take(1));
  }
}

// Blocks are let go once they are unpacked: many of them in a page, and some in two.
TEST_F(Packed, BlocksThatWereLetGoAreReadAgain) {
  constexpr std::uint64_t kBlocks = 500;
  for (std::uint64_t i = 0; i < kBlocks; ++i) file_.block(kBlockPackedRecords, example(3 * i));
  const Trace trace = read();
  ASSERT_THAT(thread(trace).slices, SizeIs(kBlocks));
  for (int time = 0; time < 2; ++time)
    for (const Slice& slice : thread(trace).slices) EXPECT_EQ(slice.records().at(2).begin_ticks, 1800u);
}

TEST_F(Packed, LossesCountAndOtherBlocksOfTheThreadFit) {
  file_.block(kBlockPackedRecords, example(3, 5));
  file_.calls(kTid, 0, {{.begin_us = 1, .end_us = 2}, {.begin_us = 3, .end_us = 4}, {.begin_us = 5, .end_us = 6}});
  const Trace trace = read();
  EXPECT_EQ(thread(trace).kept, 6u);
  EXPECT_EQ(thread(trace).lost, 2u);
  std::vector<std::uint64_t> begins;
  std::uint64_t lost = 0;
  OrderedRecords(
      thread(trace), [&](const Record& record) { begins.push_back(record.begin_ticks); },
      [&](std::uint64_t count) { lost += count; }, [](std::uint64_t) {})
      .walk();
  EXPECT_THAT(begins, ElementsAre(1000, 1400, 1800, test::at_us(1), test::at_us(3), test::at_us(5)));
  EXPECT_EQ(lost, 2u);
}

TEST_F(Packed, WhatAnotherBlockHasAlreadyIsLeftOut) {
  file_.calls(kTid, 0, {{.begin_us = 1, .end_us = 2, .a = 70}, {.begin_us = 3, .end_us = 4, .a = 71}});
  file_.block(kBlockPackedRecords, example(1));
  const Trace trace = read();
  ASSERT_THAT(thread(trace).slices, SizeIs(2));
  const Records records = thread(trace).slices[1].records();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].begin_ticks, 1400u);
  EXPECT_EQ(records[1].begin_ticks, 1800u);
  EXPECT_EQ(thread(trace).kept, 4u);
}

TEST_F(Packed, BlocksThatContradictThemselvesAreDamageAndCostNothingElse) {
  const std::string whole = example(0);
  std::vector<std::string> bad = {example(0, 3, 3, kCodecZstd),
                                  example(0, 3, 3, 99),
                                  example(0, 2, 3),
                                  example(0, 4, 4),
                                  example(0, 9000, 9000),
                                  whole.substr(0, 40),
                                  std::string(sizeof(RecordsHead) - 8, '\0')};
  for (std::size_t at : {sizeof(RecordsHead), sizeof(RecordsHead) + 4, sizeof(RecordsHead) + 8}) {
    bad.push_back(whole);
    bad.back()[at] = '\x7e';
  }
  for (const char mode : {0, 1, 2}) {  // of the first record, which has none before it
    bad.push_back(whole);
    bad.back()[sizeof(RecordsHead) + sizeof(PackedHead)] = static_cast<char>(0x48 | mode);
  }
  for (const std::string& payload : bad) file_.block(kBlockPackedRecords, payload);
  file_.block(kBlockPackedRecords, whole);
  const Trace trace = read();
  EXPECT_THAT(trace.damages, SizeIs(bad.size()));
  EXPECT_EQ(thread(trace).kept, 3u);
}

TEST_F(Packed, AnyFlippedByteOfTheBlockIsNoticed) {
  file_.block(kBlockPackedRecords, example(0));
  file_.block(kBlockPackedRecords, example(3));
  const std::string whole = file_.bytes();
  const std::size_t block = sizeof(BlockHead) + test::padded(example(0)).size();
  for (std::size_t at = kFileHeaderBytes; at < kFileHeaderBytes + block; ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    test::TraceFile::write_bytes(path(), bytes);
    const Trace trace = read_trace(path());
    ASSERT_THAT(trace.damages, SizeIs(1)) << at;
    ASSERT_EQ(thread(trace).kept, 3u) << at;
  }
}

TEST_F(Packed, AReaderOfAnEarlierVersionRefusesInsteadOfMissingRecords) {
  file_.header.version = kFileVersion + 1;
  file_.write(path());
  EXPECT_THROW(read_trace(path()), TraceError);
  static_assert(kFileVersion >= 2, "version 1 knew no packed records");
}

}  // namespace
}  // namespace hostprobe::analysis
