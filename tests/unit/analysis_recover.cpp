// What a killed process left behind is brought into its file: trace/recover.cpp
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <functional>
#include <utility>

#include "support/counters.h"
#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/recover.h"

namespace {
std::function<void()> g_after_lock;
}

// Stands in front of libc's for this program: what happens between the lock and the reading can be chosen.
extern "C" int flock(int file, int operation) noexcept {
  const auto result = static_cast<int>(syscall(SYS_flock, file, operation));
  if (const std::function<void()> act = std::exchange(g_after_lock, nullptr)) act();
  return result;
}

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::TraceFile;
using test::TraceSegment;

constexpr std::uint64_t kCookie = 77;

pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

class Recovering : public testing::Test {
 protected:
  Recovering() {
    file_.header.state = kFileOpen;
    file_.belongs_to(dead_process(), current_boot_id());
    file_.header.cookie = kCookie;
    file_.header.segment_id = segment_.id();
    file_.hooks({test::wait_hook("sem_wait")});
    file_.calls(7, 0, {{.begin_us = 1, .end_us = 2, .d = 0}});
    test::StringArea strings;
    frame_ = strings.add("get (queue.py:180)");
    segment_.strings(strings);
    const std::string stack = test::stack_bytes({0x10}, {frame_});
    std::memcpy(static_cast<void*>(&segment_.stack(0)), stack.data(), stack.size());
    segment_.fill(0, 7, 1, {{.begin_us = 3, .end_us = 4, .d = 1, .stack = 1}, {.begin_us = 5, .end_us = 6, .d = 2}});
    segment_.thread(0) = test::thread_entry(7, "worker", 4);  // a third call had begun when it was killed
  }
  RecoveryAnswer recover(const std::string& bytes) {
    TraceFile::write_bytes(path(), bytes);
    return recover_trace(path());
  }
  bool segment_exists() const {
    shmid_ds status{};
    return shmctl(segment_.id(), IPC_STAT, &status) == 0 && (status.shm_perm.mode & SHM_DEST) == 0;
  }
  std::string path() const { return folder_.file("h-1-1.hptrace"); }
  test::TestFolder folder_;
  TraceSegment segment_{kCookie};
  TraceFile file_;
  std::uint32_t frame_ = 0;
};

TEST_F(Recovering, BringsTheSegmentIntoTheFileAndFreesIt) {
  const RecoveryAnswer answer = recover(file_.bytes());
  ASSERT_EQ(answer.result, Recovery::kDone) << answer.what;
  EXPECT_EQ(answer.records, 2u);
  EXPECT_FALSE(segment_exists());

  const Trace trace = read_trace_file_only(path());
  EXPECT_EQ(trace.header.state, static_cast<std::uint32_t>(kFileRecovered));
  EXPECT_TRUE(trace.damages.empty());
  const Thread& thread = trace.threads.at({7, test::at_us(0)});
  EXPECT_EQ(thread.kept, 3u);
  EXPECT_EQ(thread.lost, 0u) << "a call that the kill cut short is not a lost record";
  EXPECT_EQ(thread.name, "worker");
  EXPECT_EQ(trace.strings.text(trace.stacks.at(0).python.at(0)), "get (queue.py:180)");
  EXPECT_EQ(trace.last.ticks, test::at_us(2'000'000));
}

// Modes monitor and flight: of 8 calls three are in the counters (one of them still in its chunk, one in a dump), two in the
// file as records, two in the segment only; one had not returned.
TEST_F(Recovering, SumsCountTheSameBeforeAndAfter) {
  test::set_text(file_.header.mode, "flight");
  file_.calls(7, 3, {{.begin_us = 11, .end_us = 12, .d = 3}});
  segment_.chunk(0).aggregated = 1;
  const std::vector<std::uint64_t> aggregated = {2000, 2000, 2000};
  test::fill_sums(segment_.counters(0),
                  {.tid = 7, .counters = {aggregated, {500}}, .object = 3, .amount = 77, .waker = 9});
  file_.block(kBlockCounters, test::sums_row({.tid = 7, .counters = {{2000}}, .object = 3}));
  segment_.thread(0) = test::thread_entry(7, "worker", 7);
  TraceFile dump;
  dump.header.cookie = kCookie;
  dump.calls(7, 4, {{.begin_us = 13, .end_us = 14, .d = 4, .flags = kRecordAggregated}});
  dump.write(folder_.file("h-1-1-0001.hpdump"));
  TraceFile::write_bytes(path(), file_.bytes());
  const Trace before = read_trace(path());
  const RecoveryAnswer answer = recover(file_.bytes());
  ASSERT_EQ(answer.result, Recovery::kDone) << answer.what;
  EXPECT_EQ(answer.records, 2u) << "what is in a dump stays there";
  const Trace after = read_trace_file_only(path());
  EXPECT_TRUE(after.damages.empty());
  for (const Trace* trace : {&before, &after}) {
    const Thread& thread = trace->threads.at({7, test::at_us(0)});
    EXPECT_EQ(thread.kept, 6u);
    EXPECT_EQ(thread.lost, 0u);
    EXPECT_EQ(thread.summed_only, 1u);
    std::vector<std::pair<std::uint64_t, bool>> records;
    for (const Slice& slice : thread.slices)
      for (const Record& record : slice.records()) records.emplace_back(record.d, is_aggregated(record));
    EXPECT_EQ(records,
              (std::vector<std::pair<std::uint64_t, bool>>{{0, false}, {1, true}, {2, false}, {3, false}, {4, true}}));
    const SiteSum& sum = thread.counters.at({pack_place(0, 1), 3});
    EXPECT_EQ(sum.time.count(), 3u);
    EXPECT_EQ(sum.wake.ticks, 500u);
    EXPECT_EQ(sum.waker_tid, 9u);
    EXPECT_EQ(sum.amount, 77u);
  }
}

TEST_F(Recovering, SecondTimeThereIsNothingToDo) {
  recover(file_.bytes());
  EXPECT_EQ(recover_trace(path()).result, Recovery::kNotNeeded);
}

// Killed between the end of its file and the removal of its memory.
TEST_F(Recovering, FreesTheSegmentThatACompleteTraceLeftBehind) {
  file_.header.state = kFileClosed;
  EXPECT_EQ(recover(file_.bytes()).result, Recovery::kNotNeeded);
  EXPECT_TRUE(segment_exists()) << "somebody is still in it";
  segment_.leave();
  EXPECT_EQ(recover(file_.bytes()).result, Recovery::kNotNeeded);
  EXPECT_FALSE(segment_exists());
}

TEST_F(Recovering, LeavesAForeignSegmentOfACompleteTraceAlone) {
  file_.header.state = kFileClosed;
  file_.header.cookie = kCookie + 1;
  segment_.leave();
  EXPECT_EQ(recover(file_.bytes()).result, Recovery::kNotNeeded);
  EXPECT_TRUE(segment_exists());
}

TEST_F(Recovering, InterruptedBeforeTheHeaderWasWrittenItCanBeDoneAgain) {
  recover(file_.bytes());
  // As if the power had gone between the blocks and the header: blocks appended, header still says open.
  std::ifstream in(path(), std::ios::binary);
  std::string recovered((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  recovered.replace(0, kFileHeaderBytes, file_.bytes().substr(0, kFileHeaderBytes));
  TraceFile::write_bytes(path(), recovered);
  EXPECT_EQ(read_trace_file_only(path()).records(), 3u);
}

TEST_F(Recovering, TailThatTheKillCutShortIsReplaced) {
  const std::string whole = file_.bytes();
  file_.clock(test::clock_at_us(7));
  const RecoveryAnswer answer = recover(file_.bytes().substr(0, whole.size() + 20));
  ASSERT_EQ(answer.result, Recovery::kDone) << answer.what;
  const Trace trace = read_trace_file_only(path());
  EXPECT_TRUE(trace.damages.empty());
  EXPECT_EQ(trace.records(), 3u);
}

TEST_F(Recovering, DamagedMiddleStaysWhereItIs) {
  std::string bytes = file_.bytes();
  bytes[bytes.size() - 10] ^= 1;  // in the last block, which is whole in length
  ASSERT_EQ(recover(bytes).result, Recovery::kDone);
  const Trace trace = read_trace_file_only(path());
  ASSERT_EQ(trace.damages.size(), 1u);
  EXPECT_EQ(trace.records(), 2u);
  EXPECT_EQ(trace.lost(), 1u);
}

TEST_F(Recovering, LiveProcessIsLeftAlone) {
  file_.header.pid = static_cast<std::uint32_t>(getpid());
  const std::string bytes = file_.bytes();
  EXPECT_EQ(recover(bytes).result, Recovery::kLives);
  EXPECT_TRUE(segment_exists());
  EXPECT_EQ(std::filesystem::file_size(path()), bytes.size());
}

TEST_F(Recovering, TraceOfAnotherBootIsLeftAlone) {
  test::set_text(file_.header.boot_id, "no-such-boot");
  EXPECT_EQ(recover(file_.bytes()).result, Recovery::kElsewhere);
  EXPECT_TRUE(segment_exists());
}

TEST_F(Recovering, SegmentThatBelongsToSomebodyElseIsNeitherReadNorRemoved) {
  file_.header.cookie = kCookie + 1;
  EXPECT_EQ(recover(file_.bytes()).result, Recovery::kGone);
  EXPECT_TRUE(segment_exists());
}

TEST_F(Recovering, EmptyFileOfAProcessKilledAtItsStartIsNoFailure) { EXPECT_EQ(recover("").result, Recovery::kEmpty); }

TEST_F(Recovering, FileThatIsNoTraceFailsWithAReason) {
  const RecoveryAnswer answer = recover("nothing of ours");
  EXPECT_EQ(answer.result, Recovery::kFailed);
  EXPECT_NE(answer.what, "");
}

TEST_F(Recovering, DamagedHeaderNeitherCrashesNorChangesTheFile) {
  file_.clock(test::clock_at_us(0));
  file_.clock(test::clock_at_us(500));
  std::string bytes = file_.bytes();
  bytes[40] ^= 1;
  EXPECT_EQ(recover(bytes).result, Recovery::kFailed);
  EXPECT_TRUE(segment_exists());
}

// Somebody puts another file at the path after the lock was taken: what was locked is read and completed, the other is
// left as it is.
TEST_F(Recovering, ReadsAndWritesTheFileThatItLocked) {
  const std::string other = "another file", locked = folder_.file("locked");
  TraceFile::write_bytes(path(), file_.bytes());
  bool replaced = false;
  g_after_lock = [&] {
    std::filesystem::rename(path(), locked);
    TraceFile::write_bytes(path(), other);
    replaced = true;
  };
  const RecoveryAnswer answer = recover_trace(path());
  ASSERT_TRUE(replaced);
  EXPECT_EQ(answer.result, Recovery::kDone) << answer.what;
  EXPECT_EQ(answer.records, 2u);
  EXPECT_EQ(std::filesystem::file_size(path()), other.size());
  EXPECT_EQ(read_trace(locked).records(), 3u);
}

}  // namespace
}  // namespace hostprobe::analysis
