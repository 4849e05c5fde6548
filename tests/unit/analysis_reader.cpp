// A trace file becomes a Trace: analysis/reader.cpp, analysis/blocks.cpp.
#include <gtest/gtest.h>

#include <system_error>

#include "support/trace_file.h"
#include "trace/reader.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::TraceFile;

class Reading : public testing::Test {
 protected:
  Trace read(const TraceFile& file) {
    file.write(path());
    return read_trace(path());
  }
  Trace read_bytes(const std::string& bytes) {
    TraceFile::write_bytes(path(), bytes);
    return read_trace(path());
  }
  std::string path() const { return folder_.file("testhost-4242-1.hptrace"); }
  test::TestFolder folder_;
};

const Thread& thread_of(const Trace& trace, std::uint32_t tid) { return trace.threads.at({tid, test::at_us(0)}); }

std::uint64_t error_offset(const std::function<void()>& read) {
  try {
    read();
  } catch (const TraceError& error) {
    return error.offset;
  }
  ADD_FAILURE() << "nothing was thrown";
  return UINT64_MAX;
}

TEST_F(Reading, GivesBackEveryFieldThatWasWritten) {
  test::StringArea strings;
  const auto kernel = strings.add("my_kernel");
  const auto frame = strings.add("get (queue.py:180)");
  TraceFile file;
  file.header.rank = 3;
  file.hooks({test::wait_hook("sem_wait"), test::launch_hook("cuLaunchKernel")});
  file.module(0x1000, 0x2000, "/usr/lib/libx.so");
  file.strings(strings);
  file.stack(0, {0x1010, 0x1020}, {frame});
  file.thread(test::thread_entry(7, "worker", 2));
  file.calls(7, 0,
             {{.hook = 1, .begin_us = 100, .end_us = 150, .c = 0x1010, .stack = 1},
              {.hook = 2, .begin_us = 200, .end_us = 201, .a = kernel}});
  const Trace trace = read(file);

  EXPECT_EQ(trace.header.rank, 3);
  EXPECT_TRUE(trace.damages.empty());
  ASSERT_EQ(trace.hooks.size(), 2u);
  EXPECT_EQ(trace.hooks[0].word_of("waker"), 1);
  EXPECT_EQ(trace.hooks[0].labels[2].form, Form::kCode);
  EXPECT_TRUE(trace.hooks[1].launch);
  EXPECT_EQ(trace.strings.text(kernel), "my_kernel");
  EXPECT_EQ(trace.stacks.at(0).native, (std::vector<std::uint64_t>{0x1010, 0x1020}));
  EXPECT_EQ(trace.strings.text(trace.stacks.at(0).python.at(0)), "get (queue.py:180)");
  ASSERT_NE(trace.module_at(0x1fff), nullptr);
  EXPECT_EQ(trace.module_at(0x2000), nullptr);
  const Thread& thread = thread_of(trace, 7);
  EXPECT_EQ(thread.name, "worker");
  EXPECT_EQ(thread.kept, 2u);
  EXPECT_EQ(thread.lost, 0u);
  EXPECT_EQ(thread.slices.at(0).records().at(1).a, kernel);
  EXPECT_EQ(trace.clock.monotonic_ns(test::at_us(100)), test::kStartMonotonicNs + 100'000);
}

TEST_F(Reading, LaterEntryOfAThreadReplacesTheEarlier) {
  TraceFile file;
  file.thread(test::thread_entry(7, "before"));
  file.thread(test::thread_entry(7, "after"));
  EXPECT_EQ(thread_of(read(file), 7).name, "after");
}

TEST_F(Reading, BlockOfALaterKindIsPassedOver) {
  TraceFile file;
  file.block(static_cast<BlockKind>(99), "what no reader of today knows...");
  file.thread(test::thread_entry(7, "worker"));
  const Trace trace = read(file);
  EXPECT_TRUE(trace.damages.empty());
  EXPECT_EQ(thread_of(trace, 7).name, "worker");
}

TEST_F(Reading, MissingRunningNumbersAreLost) {
  TraceFile file;
  file.hooks({test::wait_hook("sem_wait")});
  file.thread(test::thread_entry(7, "", 20));
  file.calls(7, 0, {{.begin_us = 1, .end_us = 2}, {.begin_us = 3, .end_us = 4}});
  file.calls(7, 10, {{.begin_us = 5, .end_us = 6}}, 3);  // 3 slots, 1 record
  const Trace trace = read(file);
  EXPECT_EQ(trace.records(), 3u);
  EXPECT_EQ(trace.lost(), 20u - 3u);
}

TEST_F(Reading, LossesOfThreadsWithoutAnEntryCount) {
  TraceFile file;
  file.header.lost = 12;
  file.thread(test::thread_entry(7));
  const Trace trace = read(file);
  EXPECT_EQ(trace.lost(), 12u);
  EXPECT_EQ(trace.lost_without_thread, 12u);
}

TEST_F(Reading, RecordsThatWereWrittenTwiceCountOnce) {
  TraceFile file;
  file.hooks({test::wait_hook("sem_wait")});
  const std::vector<Call> calls = {
      {.begin_us = 1, .end_us = 2, .d = 1}, {.begin_us = 3, .end_us = 4, .d = 2}, {.begin_us = 5, .end_us = 6, .d = 3}};
  file.calls(7, 0, {calls[0], calls[1]});
  file.calls(7, 1, {calls[1], calls[2]});
  file.calls(7, 0, {calls[0]});
  const Trace trace = read(file);
  const Thread& thread = thread_of(trace, 7);
  EXPECT_EQ(thread.kept, 3u);
  EXPECT_EQ(thread.lost, 0u);
}

TEST_F(Reading, EmptyFileIsRefused) {
  EXPECT_EQ(error_offset([&] { read_bytes(""); }), 0u);
}

TEST_F(Reading, ForeignFilesAreRefused) {
  EXPECT_EQ(error_offset([&] {
              read_bytes(
                  "\x7f"
                  "ELF and then something else");
            }),
            0u);
  EXPECT_EQ(error_offset([&] { read_bytes(std::string(10000, 'x')); }), 0u);
  EXPECT_EQ(error_offset([&] { read_bytes(std::string(10000, '\0')); }), 0u);
}

TEST_F(Reading, FileThatEndsInItsHeaderIsRefusedWhereItEnds) {
  EXPECT_EQ(error_offset([&] { read_bytes(TraceFile().bytes().substr(0, 1000)); }), 1000u);
}

TEST_F(Reading, NewerFormatIsRefusedAndNamed) {
  TraceFile file;
  file.header.version = kFileVersion + 1;
  EXPECT_EQ(error_offset([&] { read(file); }), offsetof(FileHeader, version));
  try {
    read(file);
  } catch (const TraceError& error) {
    EXPECT_NE(std::string(error.what()).find("newer hostprobe"), std::string::npos);
  }
}

TEST_F(Reading, LongerHeaderOfTheSameVersionIsPassedOver) {
  TraceFile file;
  file.header.header_bytes = kFileHeaderBytes + 64;
  file.thread(test::thread_entry(7, "worker"));
  std::string bytes = file.bytes();
  bytes.insert(kFileHeaderBytes, std::string(64, '\1'));
  EXPECT_EQ(thread_of(read_bytes(bytes), 7).name, "worker");
}

TEST_F(Reading, DamagedHeaderStillGivesTheRecords) {
  TraceFile file;
  file.hooks({test::wait_hook("sem_wait")});
  file.clock(test::clock_at_us(0));
  file.clock(test::clock_at_us(500));
  file.calls(7, 0, {{.begin_us = 1, .end_us = 2}});
  std::string bytes = file.bytes();
  bytes[100] ^= 1;
  const Trace trace = read_bytes(bytes);
  EXPECT_FALSE(trace.header_whole);
  EXPECT_EQ(trace.records(), 1u);
  EXPECT_EQ(trace.header.pid, 4242u);  // from the file's name
  EXPECT_STREQ(trace.header.host, "testhost");
  ASSERT_EQ(trace.damages.size(), 1u);
  EXPECT_EQ(trace.damages[0].offset, 0u);
}

TEST_F(Reading, DamagedBlockIsReportedAndTheNextOneRead) {
  TraceFile file;
  file.thread(test::thread_entry(7, "first"));
  file.thread(test::thread_entry(8, "second"));
  std::string bytes = file.bytes();
  bytes[kFileHeaderBytes + sizeof(BlockHead) + 3] ^= 4;
  const Trace trace = read_bytes(bytes);
  EXPECT_FALSE(trace.threads.contains({7, test::at_us(0)}));
  EXPECT_EQ(thread_of(trace, 8).name, "second");
  ASSERT_EQ(trace.damages.size(), 1u);
  EXPECT_EQ(trace.damages[0].offset, kFileHeaderBytes);
  EXPECT_EQ(trace.damages[0].bytes, sizeof(BlockHead) + sizeof(ThreadEntry));
}

TEST_F(Reading, ForeignBytesBetweenBlocksAreStepppedOver) {
  TraceFile file;
  file.thread(test::thread_entry(7, "worker"));
  std::string bytes = file.bytes();
  bytes.insert(kFileHeaderBytes, "thirteenbytes");  // what follows is no longer aligned
  const Trace trace = read_bytes(bytes);
  EXPECT_EQ(thread_of(trace, 7).name, "worker");
  ASSERT_EQ(trace.damages.size(), 1u);
  EXPECT_EQ(trace.damages[0].bytes, 13u);
}

TEST_F(Reading, ContentThatContradictsItsLengthIsDamage) {
  TraceFile file;
  RecordsHead head{};
  head.count = 1'000'000;
  head.slots = 1'000'000;
  file.block(kBlockRecords, test::bytes_of(head));
  ModuleRow row{};
  row.path_bytes = 0xffffffff;
  file.block(kBlockModules, test::bytes_of(row));
  const StringsHead strings{0xfffffff0, 8};
  file.block(kBlockStrings, test::bytes_of(strings) + "12345678");
  const StacksHead stacks{0xffffffff, 0xffffffff};
  file.block(kBlockStacks, test::bytes_of(stacks));
  file.block(kBlockHooks, std::string(24, '\0'));
  const Trace trace = read(file);
  EXPECT_EQ(trace.damages.size(), 5u);
  EXPECT_EQ(trace.records(), 0u);
}

TEST_F(Reading, StringIdsThatPointNowhereAreEmpty) {
  test::StringArea strings;
  strings.add("one");
  TraceFile file;
  file.strings(strings);
  const Trace trace = read(file);
  for (const std::uint64_t id :
       {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1} << 61, UINT64_MAX}) {
    EXPECT_EQ(trace.strings.text(id), "") << id;
  }
}

TEST_F(Reading, LastModuleMappedAtAnAddressBeforeARecordIsItsOwn) {
  TraceFile file;
  file.module(0x1000, 0x2000, "/lib/old.so", test::at_us(0));
  file.module(0x1000, 0x2000, "/lib/new.so", test::at_us(500));
  const Trace trace = read(file);
  EXPECT_EQ(trace.module_at(0x1800, test::at_us(100))->path, "/lib/old.so");
  EXPECT_EQ(trace.module_at(0x1800, test::at_us(600))->path, "/lib/new.so");
}

TEST_F(Reading, ThreadIdThatWasUsedTwiceIsToldApartByTime) {
  TraceFile file;
  ThreadEntry first = test::thread_entry(7, "first"), second = test::thread_entry(7, "second");
  second.start_ticks = test::at_us(1000);
  file.thread(first);
  file.thread(second);
  const Trace trace = read(file);
  EXPECT_EQ(trace.thread_at(7, test::at_us(999))->name, "first");
  EXPECT_EQ(trace.thread_at(7, test::at_us(1001))->name, "second");
  EXPECT_EQ(trace.thread_at(8, test::at_us(1001)), nullptr);
}

TEST_F(Reading, OneClockReadingOfAnotherBootTellsNoTimes) {
  TraceFile file;
  file.header.start = file.header.first = file.header.last = test::clock_at_us(0);
  EXPECT_THROW(read(file), TraceError);
}

TEST_F(Reading, OneClockReadingOfThisBootIsJoinedByOneOfNow) {
  TraceFile file;
  test::set_text(file.header.boot_id, current_boot_id());
  file.header.start = file.header.first = file.header.last = read_clocks_now();
  EXPECT_TRUE(read(file).clock.known());
}

TEST_F(Reading, ClosedFileThatLostItsEndSaysSo) {
  TraceFile file;
  file.thread(test::thread_entry(7, "worker"));
  file.clock(test::clock_at_us(5));
  const std::string bytes = file.bytes();
  const std::size_t clock_block = sizeof(BlockHead) + sizeof(ClockPair);
  const Trace trace = read_bytes(bytes.substr(0, bytes.size() - clock_block));
  ASSERT_EQ(trace.damages.size(), 1u);
  EXPECT_EQ(trace.damages[0].offset, bytes.size() - clock_block);
  EXPECT_EQ(trace.damages[0].bytes, clock_block);
}

TEST_F(Reading, RunFolderGivesItsTracesSortedAndNothingElse) {
  for (const char* name : {"b-2-1.hptrace", "a-1-1.hptrace", "a-1-1.job.json", "notes.txt"})
    TraceFile().write(folder_.file(name));
  const auto paths = trace_paths(folder_.path().string());
  ASSERT_EQ(paths.size(), 2u);
  EXPECT_LT(paths[0], paths[1]);
  EXPECT_EQ(trace_paths(folder_.file("notes.txt")).size(), 1u);
  EXPECT_THROW(trace_paths(folder_.file("nothing")), std::system_error);
}

TEST_F(Reading, FolderNamedLikeATraceIsRefusedNotRead) {
  std::filesystem::create_directory(folder_.file("x.hptrace"));
  EXPECT_ANY_THROW(read_trace(folder_.file("x.hptrace")));
}

}  // namespace
}  // namespace hostprobe::analysis
