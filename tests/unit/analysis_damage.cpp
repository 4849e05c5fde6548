// Whatever happens to the bytes of a trace: no crash, and never a record that nobody wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <system_error>

#include "export/dump/dump.h"
#include "support/trace_file.h"
#include "trace/reader.h"

namespace hostprobe::analysis {
namespace {

using test::TraceFile;

TraceFile small_trace() {
  test::StringArea strings;
  const auto text = strings.add("my_kernel");
  TraceFile file;
  file.hooks({test::wait_hook("sem_wait"), test::launch_hook("cuLaunchKernel")});
  file.module(0x1000, 0x2000, "/usr/lib/libx.so");
  file.strings(strings);
  file.stack(0, {0x1010}, {text});
  file.clock(test::clock_at_us(0));
  file.clock(test::clock_at_us(1000));
  file.thread(test::thread_entry(7, "worker", 4));
  file.calls(7, 0,
             {{.hook = 1, .begin_us = 1, .end_us = 2, .c = 0x1010, .stack = 1},
              {.hook = 2, .begin_us = 3, .end_us = 4, .a = text}});
  file.calls(7, 2, {{.hook = 1, .begin_us = 5, .end_us = 6, .d = 9}, {.hook = 1, .begin_us = 7, .end_us = 8, .d = 10}});
  return file;
}

class Damaged : public testing::Test {
 protected:
  std::string path() const { return folder_.file("testhost-4242-1.hptrace"); }

  // Records of what can be read of `bytes`; nothing when it is refused.
  std::vector<std::string> records_of(const std::string& bytes, std::size_t* damages = nullptr) {
    TraceFile::write_bytes(path(), bytes);
    std::vector<std::string> records;
    try {
      const Trace trace = read_trace(path());
      if (damages != nullptr) *damages = trace.damages.size();
      for (const auto& [key, thread] : trace.threads) {
        for (const Slice& slice : thread.slices) {
          for (const Record& record : slice.records()) records.push_back(test::bytes_of(record));
        }
      }
    } catch (const TraceError& error) {
      EXPECT_LE(error.offset, bytes.size());
      if (damages != nullptr) *damages = 1;
    }
    return records;
  }
  test::TestFolder folder_;
};

TEST_F(Damaged, CutAnywhereWholeRecordsAreReadAndNothingElse) {
  const std::string whole = small_trace().bytes();
  const std::vector<std::string> truth = records_of(whole);
  ASSERT_EQ(truth.size(), 4u);
  std::size_t most = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::vector<std::string> records = records_of(whole.substr(0, size));
    ASSERT_GE(records.size(), most) << "a longer file gave fewer records, at " << size;
    most = records.size();
    ASSERT_TRUE(std::equal(records.begin(), records.end(), truth.begin())) << "cut at " << size;
  }
  EXPECT_EQ(most, truth.size());
}

TEST_F(Damaged, AnyFlippedByteIsNoticedAndNoRecordIsMadeUp) {
  const std::string whole = small_trace().bytes();
  const std::vector<std::string> list = records_of(whole);
  const std::set<std::string> truth(list.begin(), list.end());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    std::size_t damages = 0;
    for (const std::string& record : records_of(bytes, &damages))
      ASSERT_TRUE(truth.contains(record)) << "flipped " << at;
    ASSERT_GT(damages, 0u) << "flipped " << at;
  }
}

TEST_F(Damaged, FlippedByteCostsOnlyTheBlockItLiesIn) {
  const std::string whole = small_trace().bytes();
  for (std::size_t at = kFileHeaderBytes; at < whole.size(); at += 5) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(~bytes[at]);
    ASSERT_GE(records_of(bytes).size(), 2u) << "flipped " << at;
  }
}

TEST_F(Damaged, NoiseInPlaceOfBlocksIsSurvived) {
  std::mt19937 random(11);
  const std::string whole = small_trace().bytes();
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    const std::size_t from = kFileHeaderBytes + random() % (whole.size() - kFileHeaderBytes);
    const std::size_t count = random() % (whole.size() - from);
    for (std::size_t at = from; at < from + count; ++at) bytes[at] = static_cast<char>(random());
    records_of(bytes);
  }
}

TEST_F(Damaged, ManyFalseBlockHeadsDoNotTakeForEver) {
  // Heads that are whole but claim everything behind them: each would be checksummed to the end of the file.
  TraceFile file = small_trace();
  std::string bytes = file.bytes();
  constexpr std::size_t kHeads = 60'000;
  for (std::size_t i = 0; i < kHeads; ++i) {
    BlockHead head{};
    head.magic = kBlockMagic;
    head.kind = kBlockRecords;
    head.payload_bytes = (kHeads - i - 1) * sizeof(BlockHead);
    head.checksum = 1;
    head.head_checksum = test::format_checksum(test::bytes_of(head).substr(0, offsetof(BlockHead, head_checksum)));
    bytes += test::bytes_of(head);
  }
  EXPECT_EQ(records_of(bytes).size(), 4u);
}

TEST_F(Damaged, DumpOfADamagedTraceNamesFileAndOffset) {
  std::string bytes = small_trace().bytes();
  bytes[kFileHeaderBytes + 40] ^= 1;
  TraceFile::write_bytes(path(), bytes);
  const auto problems = dump_run(path(), DumpForm::kJson, [](std::string_view) {});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("4096"), std::string::npos) << problems[0];
  EXPECT_NE(problems[0].find(path()), std::string::npos) << problems[0];
}

}  // namespace
}  // namespace hostprobe::analysis
