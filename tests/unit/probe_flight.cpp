// What is not written to disk: records that become counters, the memory of the last seconds, dumps of it. Read back by the
// format's own definitions.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/short_waits.h"
#include "probe/record/trigger.h"
#include "probe/runtime/options.h"
#include "probe/writer/counters/aggregate.h"
#include "probe/writer/drain.h"
#include "probe/writer/dump.h"
#include "probe/writer/file/record_block.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/flight.h"
#include "probe_fakes.h"

namespace hostprobe::probe {
namespace {

constexpr char kWaitHook[] = "sem_wait", kLaunchHook[] = "cuLaunchKernel", kNcclHook[] = "ncclAllReduce";

struct Call {
  std::uint64_t begin, length, site = 7;
  const char* hook = kWaitHook;
  std::uint64_t post = 0;
  std::uint16_t flags = 0;
};

bool record(const Call& call) {
  Record* r = reserve_record();
  if (r == nullptr) return false;
  r->begin_ticks = call.begin;
  r->end_ticks = call.begin + call.length;
  r->a = r->d = r->e = 0;
  r->b = call.post;
  r->c = call.site;
  commit_record(r, fake_hook(call.hook), call.flags, 0);
  return true;
}

void record_many(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_TRUE(record({ticks(), 1000 + i % 7}));
    if (i % 5000 == 0) drain_full_chunks();
  }
}

std::uint64_t aggregated() {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < g_segment.header->sum_count; ++i)
    if (g_segment.counters[i].key != 0)
      for (const std::uint64_t bucket : g_segment.counters[i].time.buckets) sum += bucket;
  return sum;
}

const SiteCounter* sums_of(const char* hook, std::uint64_t site, std::uint64_t object = 0) {
  for (std::uint32_t i = 0; i < g_segment.header->sum_count; ++i) {
    const SiteCounter& counters = g_segment.counters[i];
    if (counters.key == pack_place(site, fake_hook(hook).number) && counters.object == object) return &counters;
  }
  return nullptr;
}

struct Blocks {
  std::uint64_t records = 0, of_records = 0;  // and in how many blocks
  std::vector<ThreadEntry> threads;
  std::vector<CounterRow> counters;
  std::vector<EventRow> events;
};

Blocks blocks_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  Blocks blocks;
  BlockHead head{};
  for (std::size_t at = kFileHeaderBytes; at + sizeof head <= bytes.size(); at += sizeof head + head.payload_bytes) {
    std::memcpy(&head, &bytes[at], sizeof head);
    const char* payload = &bytes[at] + sizeof head;
    if (head.kind == kBlockRecords || head.kind == kBlockPackedRecords) {
      RecordsHead records;
      std::memcpy(&records, payload, sizeof records);
      blocks.records += records.count;
      ++blocks.of_records;
    } else if (head.kind == kBlockCounters) {
      std::memcpy(&blocks.counters.emplace_back(), payload, sizeof(CounterRow));
    } else if (head.kind == kBlockThreads) {
      const std::size_t before = blocks.threads.size();
      blocks.threads.resize(before + head.payload_bytes / sizeof(ThreadEntry));
      std::memcpy(&blocks.threads[before], payload, head.payload_bytes);
    } else if (head.kind == kBlockEvents) {
      std::memcpy(&blocks.events.emplace_back(), payload, sizeof(EventRow));
    }
  }
  return blocks;
}

std::string dump_path(unsigned number) {
  const std::string trace = g_file.path;
  char end[16];
  std::snprintf(end, sizeof end, "-%04u", number);
  return trace.substr(0, trace.size() - std::strlen(kFileSuffix)) + end + kDumpSuffix;
}

bool exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

class InMode : public testing::Test {
 protected:
  explicit InMode(Mode mode) {
    g_options.flight_mb = 1;
    g_options.trigger_s = 0;
    g_options.dumps_mb = 1024;
    g_options.compress = kFast;
    g_limits.flight_ticks = ~std::uint64_t{0};
    recording_.emplace(folder_.path.c_str(), 1, mode);
  }
  ~InMode() override {
    recording_.reset();
    g_options = {};
  }
  void dump(const char* text = "asked", TriggerReason reason = kByCommand) {
    request_trigger(reason, text);
    drain_full_chunks();
    answer_trigger();
  }

  Folder folder_;
  std::optional<Recording> recording_;
};
struct Monitor : InMode {
  Monitor() : InMode(kMonitor) {}
};
struct Flight : InMode {
  Flight() : InMode(kFlight) {}
};

TEST_F(Monitor, CountsEveryCallAndWritesNone) {
  constexpr std::uint64_t kCalls = 50 * kChunkRecords + 17;
  record_many(kCalls);
  drain_full_chunks();
  EXPECT_EQ(aggregated(), kCalls / kChunkRecords * kChunkRecords);  // the rest lies in the chunk being filled
  drain_last_chunks();
  drain_rest(false, true);
  const SiteCounter* counters = sums_of(kWaitHook, 7);
  ASSERT_NE(counters, nullptr);
  std::uint64_t ticks = 0;
  for (std::uint64_t i = 0; i < kCalls; ++i) ticks += 1000 + i % 7;
  EXPECT_EQ(counters->time.ticks, ticks);
  EXPECT_EQ(counters->time.max_ticks, 1006u);
  EXPECT_EQ(counters->time.buckets[short_bucket(1000)], kCalls);
  const Blocks blocks = blocks_of(g_file.path);
  EXPECT_EQ(blocks.records, 0u);
  ASSERT_EQ(blocks.counters.size(), 1u);
  EXPECT_EQ(blocks.counters[0].site.time.ticks, ticks);
  EXPECT_EQ(g_header.records, kCalls);
  EXPECT_EQ(g_header.lost, 0u);
}

TEST_F(Monitor, KnowsWakeLatencyWakerAndTimeOuts) {
  record({1000, 500, 7, kWaitHook, pack_post(42, 1300)});
  record({2000, 500, 7, kWaitHook, pack_post(43, 1900)});  // a post from before the wait woke nobody
  record({3000, 500, 7, kWaitHook, pack_post(44, 3200), kRecordFailed | kRecordTimedOut});
  drain_last_chunks();
  const SiteCounter* counters = sums_of(kWaitHook, 7);
  ASSERT_NE(counters, nullptr);
  EXPECT_EQ(counters->wake.ticks, 200u);
  EXPECT_EQ(counters->wake.buckets[short_bucket(200)], 1u);
  EXPECT_EQ(counters->waker_tid, 42u);
  EXPECT_EQ(counters->amount, 1u);
}

TEST_F(Monitor, KnowsTheGapsBetweenLaunches) {
  for (const std::uint64_t begin : {1000u, 1500u, 4000u}) record({begin, 100, 0, kLaunchHook});
  drain_last_chunks();
  const SiteCounter* counters = sums_of(kLaunchHook, 0);
  ASSERT_NE(counters, nullptr);
  EXPECT_EQ(counters->wake.ticks, 400u + 2400u);
  EXPECT_EQ(counters->wake.buckets[short_bucket(400)], 1u);
}

TEST_F(Monitor, KeepsCommunicatorsApartAndTheirBytes) {
  for (const std::uint64_t communicator : {5u, 6u, 6u}) {
    Record* r = reserve_record();
    *r = Record{1000, 2000, 0, 0, 0, 0, communicator, 25, pack_nccl_call(1, 0, 7, 0), 0, 0};
    commit_record(r, fake_hook(kNcclHook), 0, 0);
  }
  Record* failed = reserve_record();
  *failed = Record{1000, 2000, 0, 0, 0, 0, 5, 25, pack_nccl_call(0, 0, 7, 0), 0, 0};
  commit_record(failed, fake_hook(kNcclHook), kRecordFailed, 0);
  drain_last_chunks();
  ASSERT_NE(sums_of(kNcclHook, 0, 5), nullptr);
  EXPECT_EQ(sums_of(kNcclHook, 0, 5)->amount, 100u);
  EXPECT_EQ(sums_of(kNcclHook, 0, 6)->amount, 200u);
  EXPECT_NE(sums_of(kNcclHook, kSiteNotTaken, 5), nullptr);
}

TEST_F(Monitor, CountsAsLostWhatHasNoRoomAmongTheSums) {
  const std::uint64_t places = g_segment.header->sum_count + 100;
  for (std::uint64_t site = 1; site <= places; ++site) {
    record({1000, 500, site});
    record({1000, 500, site});
    drain_full_chunks();
  }
  drain_last_chunks();
  drain_rest(false, true);
  EXPECT_EQ(aggregated(), 2 * g_segment.header->sum_count);
  EXPECT_EQ(g_header.lost, 200u);
  EXPECT_EQ(g_header.records, 2 * places);
}

TEST_F(Monitor, WritesTheSumsOfEndedThreadsWhenOthersNeedTheirRoom) {
  const unsigned threads = g_segment.header->sum_count + 300;
  for (unsigned i = 0; i < threads; ++i) {
    std::thread([] {
      record({1000, 500});
      record({1000, 500});
    }).join();
    drain_full_chunks();
    drain_rest(false, false);
  }
  drain_last_chunks();
  drain_rest(false, true);
  EXPECT_EQ(g_header.lost, 0u);
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> ticks;
  for (const CounterRow& row : blocks_of(g_file.path).counters)
    ticks[{row.site.tid, row.site.thread_start_ticks}] = row.site.time.ticks;
  EXPECT_EQ(ticks.size(), threads);
  for (const auto& [thread, sum] : ticks) EXPECT_EQ(sum, 1000u);
}

// Fifty threads that begin one after the other and record a call of 500 ticks each, while the writer has no CPU.
void fifty_threads_end() {
  for (unsigned i = 0; i < 50; ++i) std::thread([] { record({1000, 500}); }).join();
}

// Each by itself or in one entry for all of them: so many by themselves, and the calls of all.
void expect_own_entries(unsigned own) {
  const Blocks blocks = blocks_of(g_file.path);
  std::uint64_t single = 0, merged = 0, records = 0, calls = 0;
  std::uint64_t newest_single = 0, oldest_merged = ~std::uint64_t{0};
  for (const ThreadEntry& entry : blocks.threads) {
    records += entry.records;
    merged += entry.stands_for;
    single += entry.stands_for == 0;
    if (entry.stands_for == 0)
      newest_single = std::max(newest_single, entry.start_ticks);
    else
      oldest_merged = entry.start_ticks;
  }
  for (const CounterRow& row : blocks.counters) calls += row.site.time.ticks / 500;
  EXPECT_EQ(single, own);
  EXPECT_EQ(merged, 50 - own);
  EXPECT_LT(newest_single, oldest_merged);
  EXPECT_EQ(records, 50u);
  EXPECT_EQ(blocks.counters.size(), own + 1u);
  EXPECT_EQ(calls, 50u);
}

TEST_F(Monitor, GivesTheOldestThreadsEntriesOfTheirOwnHoweverLateItLooks) {
  g_options.ended_threads = 20;
  fifty_threads_end();
  drain_full_chunks();
  drain_rest(false, false);
  drain_last_chunks();
  drain_rest(false, true);
  expect_own_entries(20);
}

// Their records are counted behind the entries: those of the threads that are merged go to the shared row all the same.
TEST_F(Monitor, GivesTheOldestThreadsEntriesOfTheirOwnBeforeTheirCallsAreCounted) {
  g_options.ended_threads = 20;
  fifty_threads_end();
  drain_rest(false, false);
  drain_full_chunks();
  drain_last_chunks();
  drain_rest(false, true);
  expect_own_entries(20);
}

// What the file has of a thread by its own name cannot be merged any more.
TEST_F(Monitor, MergesNoThreadWhoseSumsAreInTheFile) {
  g_options.ended_threads = 20;
  fifty_threads_end();
  drain_full_chunks();
  for (std::uint64_t site = 8; site < g_segment.header->sum_count; ++site) {
    record({1000, 0, site});
    if (site % 100 == 0) drain_full_chunks();
  }
  drain_last_chunks();
  ASSERT_GE(blocks_of(g_file.path).counters.size(), 50u);
  drain_rest(false, false);
  drain_rest(false, true);
  const Blocks blocks = blocks_of(g_file.path);
  EXPECT_GE(blocks.threads.size(), 50u);
  for (const ThreadEntry& entry : blocks.threads) EXPECT_EQ(entry.stands_for, 0u);
}

TEST_F(Flight, KeepsTheNewestAndSumsUpTheRest) {
  constexpr std::uint64_t kCalls = 300 * kChunkRecords;
  record_many(kCalls);
  drain_full_chunks();
  const std::uint64_t kept = kCalls - aggregated();
  EXPECT_LE(kept, 65u * kChunkRecords);  // one of them is being filled
  EXPECT_GE(kept, 32u * kChunkRecords);
  drain_last_chunks();
  drain_rest(false, true);
  const Blocks blocks = blocks_of(g_file.path);
  EXPECT_EQ(blocks.records, kept);
  EXPECT_EQ(g_header.records, kCalls);
  EXPECT_EQ(g_header.lost, 0u);
}

TEST_F(Flight, WritesWhatIsLeftOfAThreadTogether) {
  constexpr std::uint64_t kChunksOfEach = 10;
  std::atomic<unsigned> turn{0};
  const auto fill = [&](unsigned own) {
    for (unsigned i = 0; i < kChunksOfEach; ++i) {
      while (turn % 2 != own) std::this_thread::yield();
      record_many(kChunkRecords);
      ++turn;
    }
  };
  std::thread other(fill, 1);
  fill(0);
  other.join();
  drain_last_chunks();
  const Blocks blocks = blocks_of(g_file.path);
  EXPECT_EQ(blocks.records, 2 * kChunksOfEach * kChunkRecords);
  EXPECT_EQ(blocks.of_records, 2u);
}

TEST_F(Flight, ForgetsWhatIsTooOld) {
  record_many(5 * kChunkRecords + 1);
  drain_full_chunks();
  EXPECT_EQ(aggregated(), 0u);
  g_limits.flight_ticks = 0;
  age_kept_chunks();
  EXPECT_EQ(aggregated(), 5 * kChunkRecords);
}

TEST_F(Flight, ADumpHoldsWhatIsInMemoryAndTheTotalsStayRight) {
  constexpr std::uint64_t kCalls = 10 * kChunkRecords + 5;
  record_many(kCalls);
  dump("because");
  EXPECT_EQ(blocks_of(dump_path(1)).records, kCalls);
  EXPECT_EQ(aggregated(), kCalls);
  record_many(3);
  drain_last_chunks();
  drain_rest(false, true);
  const Blocks blocks = blocks_of(g_file.path);
  EXPECT_EQ(blocks.records, 3u);
  EXPECT_EQ(g_header.records, kCalls + 3);
  EXPECT_EQ(g_header.lost, 0u);
  ASSERT_EQ(blocks.events.size(), 1u);
  EXPECT_EQ(blocks.events[0].kind, kEventTrigger);
  EXPECT_EQ(blocks.events[0].reason, kByCommand);
  EXPECT_EQ(blocks.events[0].number, 1u);
  EXPECT_EQ(blocks.events[0].amount, kCalls);
  EXPECT_STREQ(blocks.events[0].text, "because");
}

TEST_F(Flight, TriggersOfAPersonCountHoweverSoon) {
  g_options.trigger_s = 3600;
  record_many(5);
  dump("slow", kBySlowStep);
  dump("first");
  dump("second");
  EXPECT_TRUE(exists(dump_path(3)));
}

TEST_F(Flight, TriggersThatComeTooSoonAreCounted) {
  g_options.trigger_s = 3600;
  record_many(5);
  for (int i = 0; i < 4; ++i) dump("slow", kBySlowStep);
  note_refused_triggers();
  EXPECT_FALSE(exists(dump_path(2)));
  const Blocks blocks = blocks_of(g_file.path);
  ASSERT_EQ(blocks.events.size(), 2u);
  EXPECT_EQ(blocks.events[1].number, 0u);
  EXPECT_EQ(blocks.events[1].amount, 3u);
}

TEST_F(Flight, TheOldestDumpsGoWhenTheyTakeTooMuchDisk) {
  g_options.dumps_mb = 1;
  g_options.compress = kNone;
  for (int i = 0; i < 6; ++i) {
    record_many(30 * kChunkRecords);  // about half a MiB
    dump();
  }
  EXPECT_FALSE(exists(dump_path(1)));
  EXPECT_FALSE(exists(dump_path(4)));
  EXPECT_TRUE(exists(dump_path(6)));
  EXPECT_EQ(aggregated(), 6u * 30 * kChunkRecords);
  std::uint64_t gone = 0;
  for (const EventRow& event : blocks_of(g_file.path).events) gone += event.kind == kEventDumpGone;
  EXPECT_GE(gone, 4u);
}

TEST_F(Flight, ADumpThatTheDiskDoesNotTakeLosesDetailOnly) {
  record_many(1000);
  std::ofstream(dump_path(1)) << "somebody else's file";
  dump();
  drain_last_chunks();
  drain_rest(false, true);
  EXPECT_EQ(aggregated(), 1000u);
  EXPECT_EQ(g_header.lost, 0u);
  EXPECT_EQ(g_header.file_errno, 0);
  const Blocks blocks = blocks_of(g_file.path);
  ASSERT_EQ(blocks.events.size(), 1u);
  EXPECT_EQ(blocks.events[0].amount, 0u);
  EXPECT_STREQ(blocks.events[0].text, "File exists");
}

}  // namespace
}  // namespace hostprobe::probe
