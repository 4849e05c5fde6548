// What a TraceWriter wrote, read back by the reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "answer/file_name.h"
#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/trace_writer.h"

namespace hostprobe::analysis {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kBegin = 1'700'000'000'000'000'000;

FileHeader header_of(std::uint32_t pid) {
  FileHeader header{};
  header.pid = pid;
  header.rank = 3;
  header.local_rank = -1;
  header.world_size = 8;
  header.source = kFromProfile;
  header.start = {kBegin, kBegin, kBegin};
  header.last = {kBegin + 1'000'000, kBegin + 1'000'000, kBegin + 1'000'000};
  set_field(header.host, "node-7");
  return header;
}

ThreadEntry thread_of(std::uint32_t tid) {
  ThreadEntry entry{};
  entry.state = kThreadEnded;
  entry.tid = tid;
  entry.start_ticks = kBegin;
  entry.end_ticks = kBegin + 1'000'000;
  set_field(entry.name, "pt_autograd_0 and more");
  return entry;
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(TraceWriter, ReaderFindsWhatWasWritten) {
  const test::TestFolder folder;
  TraceWriter writer(folder.file("new/run"), header_of(77));
  const std::uint16_t launch = writer.add_hook({.name = "cudaLaunchKernel", .labels = {"kernel:str"}, .launch = true});
  const std::uint64_t name = writer.add_string("gemm");
  EXPECT_EQ(writer.add_string("gemm"), name);
  std::vector<Record> records(20'000);
  for (std::size_t i = 0; i < records.size(); ++i)
    records[i] = {kBegin + 10 * i, kBegin + 10 * i + 4, launch, 1, 0, 0, name, 0, 0, 0, i};
  writer.add_records({9, kBegin}, records);
  writer.add_module({0x1000, 0x2000, 0x1000, 0, "/lib/libx.so", ""});
  writer.add_thread(thread_of(9));
  writer.add_hook({.name = "kernel", .family = Family::kGpu, .type = kRowKernel});
  const Trace trace = read_trace(writer.finish());
  EXPECT_THAT(trace.damages, testing::IsEmpty());
  EXPECT_EQ(trace.header.pid, 77u);
  EXPECT_EQ(trace.header.rank, 3);
  EXPECT_EQ(trace.header.state, kFileClosed);
  EXPECT_EQ(trace.records(), records.size());
  EXPECT_EQ(trace.lost(), 0u);
  ASSERT_EQ(trace.hooks.size(), 2u);
  EXPECT_TRUE(trace.hooks[0].launch);
  EXPECT_EQ(trace.hooks[1].type, kRowKernel);
  ASSERT_EQ(trace.threads.size(), 1u);
  const Thread& thread = trace.threads.begin()->second;
  EXPECT_EQ(thread.name, "pt_autograd_0 a");
  Records read;
  for (const Slice& slice : thread.slices) slice.append_to(read);
  ASSERT_EQ(read.size(), records.size());
  EXPECT_EQ(read[19'999].e, 19'999u);
  EXPECT_EQ(trace.strings.text(read[0].a), "gemm");
  EXPECT_EQ(trace.clock.monotonic_ns(kBegin + 5), kBegin + 5);
  EXPECT_EQ(trace.module_at(0x1800)->path, "/lib/libx.so");
}

TEST(TraceWriter, FilesArePrivateAndNothingIsOverwritten) {
  const test::TestFolder folder;
  std::vector<std::string> paths;
  for (int i = 0; i < 2; ++i) paths.push_back(TraceWriter(folder.path(), header_of(77)).finish());
  EXPECT_NE(paths[0], paths[1]);
  EXPECT_EQ(base_name(paths[0]), "node-7-77-1700000000000000000.hptrace");
  struct stat status {};
  ASSERT_EQ(stat(paths[1].c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(files_in(folder.path()), 2u);
}

TEST(TraceWriter, NothingIsLeftOfAnUnfinishedFile) {
  const test::TestFolder folder;
  { TraceWriter(folder.path(), header_of(77)).add_clock({kBegin, kBegin, kBegin}); }
  EXPECT_EQ(files_in(folder.path()), 0u);
}

TEST(TraceWriter, HostThatIsNoFileNameMakesOne) {
  const test::TestFolder folder;
  FileHeader header = header_of(1);
  set_field(header.host, "../a b");
  EXPECT_EQ(base_name(TraceWriter(folder.path(), header).finish()), "unknown.._a_b-1-1700000000000000000.hptrace");
  set_field(header.host, "");
  EXPECT_EQ(base_name(TraceWriter(folder.path(), header).finish()), "unknown-1-1700000000000000000.hptrace");
}

}  // namespace
}  // namespace hostprobe::analysis
