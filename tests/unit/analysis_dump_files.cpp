// Dumps beside a trace: analysis/dump_files.cpp, and the reader's merge of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "export/dump/dump.h"
#include "support/counters.h"
#include "trace/reader.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::TraceFile;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kCookie = 0xc00c1e;

std::vector<Call> calls(std::uint64_t first, int count, std::uint16_t flags = kRecordAggregated) {
  std::vector<Call> result;
  for (int i = 0; i < count; ++i) {
    const auto number = first + static_cast<std::uint64_t>(i);
    const double begin = 10.0 * static_cast<double>(number);
    result.push_back({.begin_us = begin, .end_us = begin + 1, .d = number, .flags = flags});
  }
  return result;
}

class DumpFiles : public testing::Test {
 protected:
  DumpFiles() {
    file_.header.cookie = kCookie;
    test::set_text(file_.header.mode, "flight");
    file_.hooks({test::wait_hook("sem_wait")});
    file_.block(kBlockCounters, test::sums_row({.tid = 7, .counters = {std::vector<std::uint64_t>(4, 2000)}}));
    file_.calls(7, 4, calls(4, 2, 0));
  }
  static TraceFile dump(std::uint64_t first, int count) {
    TraceFile dump;
    dump.header.cookie = kCookie;
    dump.calls(7, first, calls(first, count));
    return dump;
  }
  void put(const char* name, const TraceFile& dump) { dump.write(folder_.file(name)); }
  Trace read() {
    file_.write(folder_.file("h-1-1.hptrace"));
    return read_trace(folder_.file("h-1-1.hptrace"));
  }
  static std::vector<std::uint64_t> numbers(const Trace& trace) {
    std::vector<std::uint64_t> result;
    for (const Slice& slice : trace.threads.at({7, test::at_us(0)}).slices)
      for (const Record& record : slice.records()) result.push_back(record.d);
    return result;
  }
  void expect_damage(const char* what) {
    const Trace trace = read();
    ASSERT_EQ(trace.damages.size(), 1u);
    EXPECT_THAT(trace.damages[0].what, HasSubstr(what));
    EXPECT_THAT(trace.damages[0].what, HasSubstr("h-1-1-0001.hpdump"));
    EXPECT_EQ(trace.records(), 6u) << "what a dump held is in the counters";
    EXPECT_EQ(trace.lost(), 0u);
  }
  test::TestFolder folder_;
  TraceFile file_;
};

TEST_F(DumpFiles, AreReadWithTheTraceAndCountOnce) {
  put("h-1-1-0001.hpdump", dump(0, 2));
  put("h-1-1-0002.hpdump", dump(2, 2));
  const Trace trace = read();
  EXPECT_THAT(numbers(trace), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(trace.records(), 6u);
  EXPECT_EQ(trace.lost(), 0u);
  EXPECT_EQ(trace.threads.begin()->second.summed_only, 0u);
  EXPECT_TRUE(trace.damages.empty());
}

TEST_F(DumpFiles, WithoutThemNothingIsLost) {
  const Trace trace = read();
  EXPECT_THAT(numbers(trace), ElementsAre(4, 5));
  EXPECT_EQ(trace.records(), 6u);
  EXPECT_EQ(trace.lost(), 0u);
  EXPECT_EQ(trace.threads.begin()->second.summed_only, 4u);
}

TEST_F(DumpFiles, OverlapWithTheTraceAndWithEachOther) {
  put("h-1-1-0001.hpdump", dump(0, 3));
  put("h-1-1-0002.hpdump", dump(1, 5));
  EXPECT_THAT(numbers(read()), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(read().records(), 6u);
}

TEST_F(DumpFiles, OfOtherTracesAreLeftAlone) {
  put("h-1-12-0001.hpdump", dump(0, 2));
  put("h-1-1-2-0001.hpdump", dump(0, 2));
  put("h-1-1-.hpdump", dump(0, 2));
  put("h-1-1.hpdump", dump(0, 2));
  const Trace trace = read();
  EXPECT_THAT(numbers(trace), ElementsAre(4, 5));
  EXPECT_TRUE(trace.damages.empty());
}

TEST_F(DumpFiles, AreShownByTheDumpOfTheRunAndAreNoTracesThemselves) {
  put("h-1-1-0001.hpdump", dump(0, 4));
  read();
  EXPECT_EQ(trace_paths(folder_.path().string()).size(), 1u);
  std::string text;
  const auto problems =
      dump_run(folder_.path().string(), DumpForm::kJson, [&text](std::string_view more) { text += more; });
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
  EXPECT_THAT(text, HasSubstr("\"summed\":true"));
  EXPECT_THAT(text, testing::Not(HasSubstr("lost")));
  EXPECT_THROW(read_trace(folder_.file("h-1-1-0001.hpdump")), TraceError);
}

TEST_F(DumpFiles, OfAnotherProcessAreDamage) {
  TraceFile foreign = dump(0, 4);
  foreign.header.cookie = kCookie + 1;
  put("h-1-1-0001.hpdump", foreign);
  expect_damage("of another process");
}

TEST_F(DumpFiles, OfANewerFormatAreDamage) {
  TraceFile newer = dump(0, 4);
  newer.header.version = kFileVersion + 1;
  put("h-1-1-0001.hpdump", newer);
  expect_damage("newer format");
}

TEST_F(DumpFiles, CutShortGiveWhatIsWholeAndDamage) {
  TraceFile whole = dump(0, 2);
  const std::size_t first = whole.bytes().size();
  whole.calls(7, 2, calls(2, 2));
  for (const std::size_t bytes : {first + 1, first + 40, whole.bytes().size() - 8}) {
    TraceFile::write_bytes(folder_.file("h-1-1-0001.hpdump"), whole.bytes().substr(0, bytes));
    EXPECT_THAT(numbers(read()), ElementsAre(0, 1, 4, 5)) << bytes;
    expect_damage("");
  }
}

TEST_F(DumpFiles, ThatEndInTheirHeaderOrHoldNothingAreDamage) {
  for (const std::size_t bytes : {0, 100, 4095}) {
    TraceFile::write_bytes(folder_.file("h-1-1-0001.hpdump"), dump(0, 4).bytes().substr(0, bytes));
    expect_damage("ends inside its header");
  }
  TraceFile::write_bytes(folder_.file("h-1-1-0001.hpdump"), std::string(8192, 'x'));
  expect_damage("no dump");
  std::string spoiled = dump(0, 4).bytes();
  spoiled[60] ^= 1;
  TraceFile::write_bytes(folder_.file("h-1-1-0001.hpdump"), spoiled);
  expect_damage("checksum");
}

TEST_F(DumpFiles, FlippedByteCostsItsBlockOnly) {
  TraceFile two = dump(0, 2);
  const std::size_t at = two.bytes().size() - 20;
  two.calls(7, 2, calls(2, 2));
  std::string bytes = two.bytes();
  bytes[at] ^= 1;
  TraceFile::write_bytes(folder_.file("h-1-1-0001.hpdump"), bytes);
  EXPECT_THAT(numbers(read()), ElementsAre(2, 3, 4, 5));
  expect_damage("checksum");
}

TEST_F(DumpFiles, ThatAreFoldersAreDamage) {
  std::filesystem::create_directory(folder_.file("h-1-1-0001.hpdump"));
  expect_damage("cannot map it");
}

TEST_F(DumpFiles, HoldNothingButRecords) {
  TraceFile odd = dump(0, 4);
  odd.hooks({test::wait_hook("somebody_elses")});
  odd.block(kBlockCounters, test::sums_row({.tid = 7, .counters = {std::vector<std::uint64_t>(99, 2000)}}));
  put("h-1-1-0001.hpdump", odd);
  const Trace trace = read();
  EXPECT_EQ(trace.hooks.at(0).name, "sem_wait");
  EXPECT_EQ(trace.records(), 6u);
}

TEST_F(DumpFiles, OfATraceWithADamagedHeaderAreNotTrusted) {
  put("h-1-1-0001.hpdump", dump(0, 4));
  file_.clock(test::clock_at_us(0));
  file_.clock(test::clock_at_us(500));
  std::string bytes = file_.bytes();
  bytes[60] ^= 1;
  TraceFile::write_bytes(folder_.file("h-1-1.hptrace"), bytes);
  const Trace trace = read_trace(folder_.file("h-1-1.hptrace"));
  EXPECT_THAT(numbers(trace), ElementsAre(4, 5));
  EXPECT_EQ(trace.damages.size(), 2u);
}

}  // namespace
}  // namespace hostprobe::analysis
