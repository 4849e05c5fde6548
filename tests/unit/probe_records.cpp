// From a hook's record to the file and back: order, completeness, losses, re-entrance. Run under TSan and ASan too.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <thread>
#include <vector>

#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/pairing.h"
#include "probe/record/short_waits.h"
#include "probe/runtime/options.h"
#include "probe/runtime/signal_frame.h"
#include "probe/writer/counters/thread_entries.h"
#include "probe/writer/drain.h"
#include "probe/writer/file/record_block.h"
#include "probe/writer/file/trace_file.h"
#include "probe_fakes.h"
#include "trace/unpack.h"

namespace hostprobe::probe {
namespace {

bool write_one(std::uint64_t value) {
  Record* r = reserve_record();
  if (r == nullptr) return false;
  r->begin_ticks = value;
  r->end_ticks = value + 1;
  r->a = r->b = r->c = r->d = r->e = value;
  commit_record(r, *__start_hp_state, 0, 0);
  return true;
}

struct Found {
  std::map<std::uint32_t, std::vector<std::uint64_t>> values;  // per thread, by running number
  std::uint64_t slots = 0, records = 0;
  std::vector<RecordsHead> heads;  // of each block, as they stand in the file
};

analysis::Records records_of(const RecordsHead& head, std::uint16_t kind, const char* bytes, std::size_t size) {
  analysis::Records records;
  if (kind == kBlockPackedRecords) {
    EXPECT_TRUE(analysis::unpack(reinterpret_cast<const std::byte*>(bytes), size, head.count, records));
  } else {
    EXPECT_EQ(size, head.count * sizeof(Record));
    records.resize(head.count);
    memcpy(static_cast<void*>(records.data()), bytes, size);
  }
  return records;
}

// Reads the record blocks by the format's own definitions, independent of the reader in analysis/.
Found read_back() {
  std::ifstream in(g_file.path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
  Found found;
  // A chunk that fills up while the writer looks at the open ones may come after its successor.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::uint64_t>> blocks;
  for (std::size_t at = kFileHeaderBytes; at + sizeof(BlockHead) <= bytes.size();) {
    BlockHead head;
    memcpy(&head, &bytes[at], sizeof head);
    EXPECT_EQ(head.magic, kBlockMagic);
    at += sizeof head;
    if (head.kind == kBlockRecords || head.kind == kBlockPackedRecords) {
      RecordsHead records;
      memcpy(&records, &bytes[at], sizeof records);
      found.heads.push_back(records);
      found.slots += records.slots;
      found.records += records.count;
      auto& values = blocks[{records.tid, records.first_sequence}];
      for (const Record& r :
           records_of(records, head.kind, &bytes[at + sizeof records], head.payload_bytes - sizeof records)) {
        EXPECT_EQ(r.a, r.e);
        values.push_back(r.a);
      }
    }
    at += head.payload_bytes;
  }
  for (const auto& [place, values] : blocks)
    found.values[place.first].insert(found.values[place.first].end(), values.begin(), values.end());
  return found;
}

TEST(Records, ComeBackWholeAndInOrder) {
  Folder folder;
  Recording recording(folder.path.c_str());
  constexpr std::uint64_t kCount = 3 * kChunkRecords + 17;
  for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_TRUE(write_one(i));
  drain_full_chunks();
  drain_rest(false, false);
  Found found = read_back();
  ASSERT_EQ(found.values.size(), 1u);
  const auto& values = found.values.begin()->second;
  ASSERT_EQ(values.size(), kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) EXPECT_EQ(values[i], i);
  EXPECT_EQ(g_header.lost, 0u);
  EXPECT_EQ(g_header.records, kCount);
}

struct InEachForm : testing::TestWithParam<std::uint64_t> {
  InEachForm() { g_options.compress = GetParam(); }
  ~InEachForm() override { g_options.compress = 0; }
};
INSTANTIATE_TEST_SUITE_P(Records, InEachForm, testing::Values(0, 1, 2), [](const auto& form) {
  return std::string(form.index == 0 ? "zstd" : form.index == 1 ? "fast" : "none");
});

TEST_P(InEachForm, RecordsOfManyChunksAndOfOneAreThere) {
  Folder folder;
  Recording recording(folder.path.c_str(), 4);
  constexpr std::uint64_t kCount = 100 * kChunkRecords + 17;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(write_one(i));
    if (i % 10000 == 0) drain_rest(false, false);
  }
  drain_full_chunks();
  drain_rest(false, false);
  Found found = read_back();
  const auto& values = found.values.begin()->second;
  ASSERT_EQ(values.size(), kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], i);
  EXPECT_EQ(g_header.records, kCount);
  EXPECT_EQ(g_header.lost, 0u);
}

TEST(Records, OfChunksThatContinueEachOtherShareABlock) {
  Folder folder;
  Recording recording(folder.path.c_str(), 4);
  const std::uint64_t count = (RecordBlock::kMostChunks + 3) * std::uint64_t{kChunkRecords};
  for (std::uint64_t i = 0; i < count + 1; ++i) ASSERT_TRUE(write_one(i));
  drain_full_chunks();
  const std::vector<RecordsHead> heads = read_back().heads;
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0].count, RecordBlock::kMostChunks * kChunkRecords);
  EXPECT_EQ(heads[1].first_sequence, heads[0].count);
  EXPECT_EQ(heads[1].count, 3 * kChunkRecords);
}

TEST(Records, MissingInAChunkEndTheirBlockSoThatTheirPlaceIsKnown) {
  Folder folder;
  Recording recording(folder.path.c_str(), 4);
  for (std::uint64_t i = 0; i < 4 * std::uint64_t{kChunkRecords} + 1; ++i) {
    if (i != kChunkRecords + 5) {
      ASSERT_TRUE(write_one(i));
    } else {
      ASSERT_NE(reserve_record(), nullptr);
      drop_record();
    }
  }
  drain_full_chunks();
  const std::vector<RecordsHead> heads = read_back().heads;
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0].slots, 2 * kChunkRecords);
  EXPECT_EQ(heads[0].count, 2 * kChunkRecords - 1);
  EXPECT_EQ(heads[1].count, 2 * kChunkRecords);
}

TEST(Records, StayUndrainedInTheSegmentUntilTheirBlockIsWritten) {
  Folder folder;
  Recording recording(folder.path.c_str());
  for (std::uint64_t i = 0; i < kChunkRecords + 1; ++i) ASSERT_TRUE(write_one(i));
  ChunkHead* chunk = nullptr;
  ASSERT_EQ(next_full_chunks(&chunk, 1), 1u);
  RecordBlock block{};
  block.add(chunk, kChunkRecords);
  EXPECT_EQ(chunk->drained, 0u);
  EXPECT_EQ(chunk->state, kChunkFull);
  block.write();
  EXPECT_EQ(chunk->drained, kChunkRecords);
}

TEST(Writer, IsNotWokenForEveryChunkButBeforeThreadsRunShort) {
  Folder folder;
  Recording recording(folder.path.c_str());
  const unsigned before = bells_rung();
  for (std::uint64_t i = 0; i < 10 * std::uint64_t{kChunkRecords}; ++i) ASSERT_TRUE(write_one(i));
  EXPECT_EQ(bells_rung(), before);
  for (std::uint64_t i = 0; i < 30 * std::uint64_t{kChunkRecords}; ++i) ASSERT_TRUE(write_one(i));
  EXPECT_GT(bells_rung(), before);
}

TEST(Records, OfAnOpenChunkAreWrittenOnceHoweverOftenItIsLookedAt) {
  Folder folder;
  Recording recording(folder.path.c_str());
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(write_one(i));
    drain_rest(false, false);
  }
  EXPECT_EQ(read_back().records, 100u);
}

TEST(Records, FullPoolDropsAndCounts) {
  Folder folder;
  Recording recording(folder.path.c_str(), 1);
  const std::uint64_t room = std::uint64_t{g_segment.header->chunk_count} * kChunkRecords;
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < room + 1000; ++i) kept += write_one(i);
  EXPECT_EQ(kept, room);
  EXPECT_GT(bells_rung(), 0u);
  drain_full_chunks();
  // There is room again, and the gap is known.
  EXPECT_TRUE(write_one(1));
  drain_rest(false, false);
  Found found = read_back();
  EXPECT_EQ(found.records, room + 1);
  EXPECT_EQ(g_header.lost, 1000u);
  EXPECT_EQ(g_header.records, room + 1001);
}

TEST(Records, OfASignalHandlerDoNotOverwriteTheOneBelow) {
  Folder folder;
  Recording recording(folder.path.c_str());
  ASSERT_TRUE(write_one(1));
  Record* below = reserve_record();  // the hook is interrupted here …
  ASSERT_NE(below, nullptr);
  ASSERT_TRUE(write_one(3));  // … by a handler whose hook records
  below->a = below->b = below->c = below->d = below->e = 2;
  commit_record(below, *__start_hp_state, 0, 0);
  drain_full_chunks();
  drain_rest(false, false);
  EXPECT_EQ(read_back().values.begin()->second, (std::vector<std::uint64_t>{1, 2, 3}));
}

bool g_kept_in_handler = true;
void write_in_handler(int) { g_kept_in_handler = write_one(99); }

TEST(Records, OfASignalHandlerAreLostAndCountedWhenTheChunkBelowIsFull) {
  Folder folder;
  Recording recording(folder.path.c_str());
  for (std::uint32_t i = 0; i + 1 < kChunkRecords; ++i) ASSERT_TRUE(write_one(i));
  Record* below = reserve_record();  // the last slot
  ASSERT_NE(below, nullptr);
  signal(SIGUSR1, write_in_handler);
  raise(SIGUSR1);
  EXPECT_FALSE(g_kept_in_handler);
  below->a = below->e = 7;
  commit_record(below, *__start_hp_state, 0, 0);
  ASSERT_TRUE(write_one(8));
  drain_full_chunks();
  drain_rest(false, false);
  EXPECT_EQ(read_back().records, kChunkRecords + 1);
  EXPECT_EQ(g_header.lost, 1u);
}

TEST(Records, OfAHookThatWasJumpedOutOfAreAllThatIsLost) {
  Folder folder;
  Recording recording(folder.path.c_str());
  for (std::uint32_t i = 0; i < 10; ++i) ASSERT_TRUE(write_one(i));
  for (int left = 0; left < 3; ++left) ASSERT_NE(reserve_record(), nullptr);
  for (std::uint32_t i = 10; i < 4 * kChunkRecords; ++i) ASSERT_TRUE(write_one(i));
  EXPECT_EQ(t_local.filling, 0u);
  drain_full_chunks();
  drain_rest(false, false);
  EXPECT_EQ(read_back().records, 4 * kChunkRecords);
  EXPECT_EQ(g_header.lost, 3u);
}

bool g_found_handler = false;
void ask_in_handler(int) { g_found_handler = in_signal_handler(); }
[[maybe_unused]] __attribute__((noinline)) bool ask_below_a_large_buffer() {
  char unused[32768];
  asm volatile("" : : "r"(unused) : "memory");
  bool answer = in_signal_handler();
  asm volatile("" : : "r"(unused) : "memory");
  return answer;
}

TEST(SignalHandler, IsKnownByItsStackAndOnlyWhileItRuns) {
  for (int flags : {0, SA_SIGINFO, SA_ONSTACK}) {
    alignas(16) static char stack[65536];
    stack_t own = {stack, 0, sizeof stack};
    sigaltstack(&own, nullptr);
    struct sigaction action = {};
    action.sa_handler = ask_in_handler;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, nullptr);
    g_found_handler = false;
    EXPECT_FALSE(in_signal_handler());
    raise(SIGUSR1);
    EXPECT_TRUE(g_found_handler) << flags;
// A sanitizer's own handlers have SA_NODEFER: beside such a one a frame that was left counts, which only delays the writer.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    EXPECT_FALSE(ask_below_a_large_buffer()) << "the frame is still there, the handler is not";
#endif
    own.ss_flags = SS_DISABLE;
    sigaltstack(&own, nullptr);
  }
}

TEST(Records, NotCommittedAreNotRead) {
  Folder folder;
  Recording recording(folder.path.c_str());
  ASSERT_TRUE(write_one(1));
  ASSERT_NE(reserve_record(), nullptr);
  drain_rest(false, false);
  EXPECT_EQ(read_back().records, 1u);
  drop_record();
}

TEST(Records, OfManyThreadsAreAllThereWhileTheWriterDrains) {
  Folder folder;
  Recording recording(folder.path.c_str(), 8);
  constexpr unsigned kThreadsHere = 4;
  constexpr std::uint64_t kEach = 20000;
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> kept{0};
  std::thread writer([&] {
    t_local.muted = 1;
    while (!done) {
      drain_full_chunks();
      drain_rest(false, false);
    }
    drain_full_chunks();
    drain_rest(false, false);
  });
  std::vector<std::thread> threads;
  for (unsigned n = 0; n < kThreadsHere; ++n)
    threads.emplace_back([&] {
      std::uint64_t mine = 0;
      for (std::uint64_t i = 0; i < kEach; ++i) mine += write_one(i);
      kept += mine;
    });
  for (std::thread& t : threads) t.join();
  done = true;
  writer.join();
  Found found = read_back();
  EXPECT_EQ(found.records, kept.load());
  EXPECT_EQ(g_header.records, kThreadsHere * kEach);
  EXPECT_EQ(g_header.lost, kThreadsHere * kEach - kept.load());
  ASSERT_EQ(found.values.size(), kThreadsHere);
  for (auto& [tid, values] : found.values) EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << tid;
}

TEST(Records, OfThousandsOfShortThreadsAreThereOrCounted) {
  Folder folder;
  Recording recording(folder.path.c_str(), 2);
  constexpr std::uint64_t kShort = 2000;
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < kShort; ++i) {
    std::thread([&] { kept += write_one(i); }).join();
    if (i % 64 == 0) {
      drain_full_chunks();
      drain_rest(false, false);
    }
  }
  drain_full_chunks();
  drain_rest(false, false);
  EXPECT_EQ(read_back().records, kept);
  EXPECT_EQ(g_header.records, kShort);
  EXPECT_EQ(g_header.lost, kShort - kept);
}

TEST(Chunk, OldRecordsDoNotComeBackWhenTheLapNumberWraps) {
  Folder folder;
  Recording recording(folder.path.c_str());
  ChunkHead* chunk = take_chunk();
  ASSERT_NE(chunk, nullptr);
  memset(static_cast<void*>(chunk + 1), 0xff, kChunkBytes - sizeof(ChunkHead));
  chunk->lap = 0xffff;
  recycle_chunk(chunk);
  ChunkHead* again = nullptr;
  do again = take_chunk();
  while (again != nullptr && again != chunk);
  ASSERT_EQ(again, chunk);
  EXPECT_EQ(chunk->lap, 1);
  for (const auto* r = reinterpret_cast<const Record*>(chunk + 1);
       r != reinterpret_cast<const Record*>(chunk + 1) + kChunkRecords; ++r)
    ASSERT_EQ(r->hook, 0);
}

TEST(File, AFailedWriteIsCountedAndTheNextOneGoesOn) {
  Folder folder;
  Recording recording(folder.path.c_str());
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(write_one(i));
  int good = g_file.fd;
  g_file.fd = -1;  // as when the file cannot be opened any more
  drain_rest(false, false);
  EXPECT_EQ(g_header.lost_in_file, 10u);
  g_file.fd = good;
  ASSERT_TRUE(write_one(10));
  drain_rest(false, false);
  EXPECT_EQ(read_back().records, 1u);
  EXPECT_EQ(g_header.lost, 10u);
}

// By the words of format/segment.h: 16 buckets an octave from 128 ticks on, the last one open.
TEST(SiteCounter, FallIntoTheBucketThatTheFormatNames) {
  EXPECT_EQ(short_bucket(0), 0u);
  EXPECT_EQ(short_bucket(127), 0u);
  EXPECT_EQ(short_bucket(128), 1u);
  EXPECT_EQ(short_bucket(135), 1u);
  EXPECT_EQ(short_bucket(136), 2u);
  EXPECT_EQ(short_bucket(300), 19u);
  EXPECT_EQ(short_bucket((std::uint64_t{1} << 41) - 1), kSpanBuckets - 1);
  EXPECT_EQ(short_bucket(std::uint64_t{1} << 41), kSpanBuckets - 1);
  EXPECT_EQ(short_bucket(~std::uint64_t{0}), kSpanBuckets - 1);
  for (std::uint64_t ticks = 1; ticks < (1u << 20); ++ticks) ASSERT_GE(short_bucket(ticks), short_bucket(ticks - 1));
}

TEST(SiteCounter, OfMorePlacesThanAThreadHasLeaveRecordsInstead) {
  Folder folder;
  Recording recording(folder.path.c_str());
  for (std::uintptr_t site = 1; site <= kShortPlaces; ++site)
    EXPECT_NE(short_waits_of(*__start_hp_state, reinterpret_cast<const void*>(site)), nullptr);
  EXPECT_EQ(short_waits_of(*__start_hp_state, reinterpret_cast<const void*>(std::uintptr_t{99})), nullptr);
  EXPECT_NE(short_waits_of(*__start_hp_state, reinterpret_cast<const void*>(std::uintptr_t{1})), nullptr);
}

TEST(SiteCounter, OfAnEndedThreadAreWrittenAndTheirPlacesGivenBack) {
  Folder folder;
  Recording recording(folder.path.c_str());
  constexpr std::uint32_t kMoreThreadsThanPlaces = 3 * kShorts;
  std::uint32_t refused = 0;
  for (std::uint32_t i = 0; i < kMoreThreadsThanPlaces; ++i) {
    std::thread([&] {
      SiteCounter* counters = short_waits_of(*__start_hp_state, reinterpret_cast<const void*>(std::uintptr_t{5}));
      if (counters == nullptr)
        ++refused;
      else
        add_span(counters->time, 1000);
    }).join();
    if (i % 64 == 63) drain_ended_threads(false);
  }
  EXPECT_EQ(refused, 0u);
}

TEST(Pairing, APostBeforeTheWaitBeganIsNotItsWaker) {
  int object = 0;
  Bucket& bucket = bucket_of(&object);
  t_local.tid = 77;
  leave_post(bucket, &object);
  const std::uint64_t posted = ticks();
  std::uint64_t later = ticks();
  while (later == posted) later = ticks();  // a tick may be longer than a call
  EXPECT_EQ(take_post(bucket, &object, later, later + 10), 0u);
  std::uint64_t begin = ticks();
  leave_post(bucket, &object);
  std::uint64_t post = take_post(bucket, &object, begin, ticks());
  EXPECT_EQ(post_tid(post), 77u);
  EXPECT_EQ(take_post(bucket, &post, begin, ticks()), 0u) << "another object in the same bucket";
}

TEST(Post, KeepsThreadAndTimeThroughPacking) {
  std::uint64_t end = 0x123456789abcdef0u;
  for (std::uint64_t ago : {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 42) - 1}) {
    std::uint64_t post = pack_post(4194303, end - ago);
    EXPECT_EQ(post_tid(post), 4194303u);
    EXPECT_EQ(post_ticks(post, end), end - ago);
  }
}

}  // namespace
}  // namespace hostprobe::probe
