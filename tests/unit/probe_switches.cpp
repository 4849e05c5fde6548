// Switches from the kernel's perf buffers: probe/sources/perf/{perf_records.h, raw_clock.cpp, switch_counts.cpp, switch_rings.cpp}.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "probe/runtime/clock.h"
#include "probe/sources/perf/perf_event.h"
#include "probe/sources/perf/perf_records.h"
#include "probe/sources/perf/raw_clock.h"
#include "probe/sources/perf/switch_counts.h"
#include "probe/sources/perf/switch_rings.h"

namespace hostprobe::probe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kBytes = 256;  // eight records

// A buffer as the kernel fills it: `position` is where the next record goes, or where the newest one stands.
struct Buffer {
  alignas(8) std::array<unsigned char, kBytes> bytes{};
  std::uint64_t position = 0;
  mutable std::uint64_t lost = 0;

  PerfBytes view() const { return {bytes.data(), kBytes}; }
  void put(std::uint64_t at, const void* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) bytes[(at + i) % kBytes] = static_cast<const unsigned char*>(from)[i];
  }
  void append(const PerfSwitchRecord& record, std::uint64_t count = sizeof(PerfSwitchRecord)) {
    put(position, &record, count);
    position += count;
  }
  void prepend(const PerfSwitchRecord& record) {
    position -= sizeof record;
    put(position, &record, sizeof record);
  }
  std::vector<std::uint64_t> forward(std::uint64_t tail, bool* whole = nullptr) const {
    std::vector<std::uint64_t> times;
    const bool all = read_perf_forward(
        view(), tail, position, [&](const PerfSwitch& s) { times.push_back(s.raw_ns); },
        [&](const PerfDrops& d) { lost += d.count; });
    if (whole != nullptr) *whole = all;
    return times;
  }
  std::vector<std::uint64_t> backward(std::uint64_t end, bool* whole = nullptr,
                                      const std::uint64_t* live = nullptr) const {
    std::vector<std::uint64_t> times;
    const bool all = read_perf_backward(view(), position, end, live == nullptr ? &position : live,
                                        [&](const PerfSwitch& s) { times.push_back(s.raw_ns); });
    if (whole != nullptr) *whole = all;
    return times;
  }
};

PerfSwitchRecord record_at(std::uint64_t time, std::uint16_t misc = 0, std::uint32_t type = PERF_RECORD_SWITCH) {
  PerfSwitchRecord record{};
  record.head = {type, misc, sizeof record};
  record.tid = 7;
  record.time = time;
  record.cpu = 3;
  return record;
}

TEST(PerfRecords, SayWhoWhenWhereAndWhy) {
  Buffer buffer;
  buffer.append(record_at(1));
  buffer.append(record_at(2, PERF_RECORD_MISC_SWITCH_OUT));
  buffer.append(record_at(3, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT));
  std::vector<std::uint16_t> what;
  const auto add = [&](const PerfSwitch& found) {
    EXPECT_EQ(found.tid, 7u);
    EXPECT_EQ(found.cpu, 3u);
    what.push_back(found.what);
  };
  ASSERT_TRUE(read_perf_forward(buffer.view(), 0, buffer.position, add, [](const PerfDrops&) {}));
  EXPECT_THAT(what, ElementsAre(kSwitchedIn, kSwitchedOut, kSwitchedOutRunnable));
}

TEST(PerfRecords, MayBeCutInTwoByTheEndOfTheBuffer) {
  Buffer buffer;
  buffer.position = kBytes - 8;
  buffer.append(record_at(1));
  buffer.append(record_at(2));
  EXPECT_THAT(buffer.forward(kBytes - 8), ElementsAre(1, 2));
}

TEST(PerfRecords, ThatFoundTheBufferFullAreCounted) {
  Buffer buffer;
  buffer.append(record_at(1));
  PerfLostRecord told{};
  told.head = {PERF_RECORD_LOST, 0, sizeof told};
  told.lost = 12345;
  buffer.put(buffer.position, &told, sizeof told);
  buffer.position += sizeof told;
  buffer.append(record_at(2));
  EXPECT_THAT(buffer.forward(0), ElementsAre(1, 2));
  EXPECT_EQ(buffer.lost, told.lost);
}

TEST(PerfRecords, OfOtherKindsAreSteppedOver) {
  Buffer buffer;
  buffer.append(record_at(1));
  buffer.append(record_at(2, 0, PERF_RECORD_FORK));
  PerfSwitchRecord brief = record_at(3);
  brief.head.size = 24;
  buffer.append(brief, 24);
  buffer.append(record_at(4));
  EXPECT_THAT(buffer.forward(0), ElementsAre(1, 4));
}

TEST(PerfRecords, WithLengthsThatMakeNoSenseEndTheReading) {
  for (const int size : {0, 4, 7, 9, 31, 33, 40, 65528, 65535}) {
    Buffer buffer;
    buffer.append(record_at(1));
    PerfSwitchRecord bad = record_at(2);
    bad.head.size = static_cast<std::uint16_t>(size);
    buffer.append(bad);
    bool whole = true;
    EXPECT_THAT(buffer.forward(0, &whole), ElementsAre(1)) << size;
    EXPECT_FALSE(whole) << size;
  }
  Buffer buffer;
  bool whole = true;
  buffer.position = kBytes + 32;
  EXPECT_THAT(buffer.forward(0, &whole), IsEmpty()) << "more than the buffer holds";
  EXPECT_FALSE(whole);
}

TEST(PerfRecords, OfAnyBytesNeverLeadOutOfTheBuffer) {
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    std::vector<unsigned char> exact(kBytes);  // of its own, so that a sanitizer sees its end
    for (unsigned char& byte : exact) byte = static_cast<unsigned char>(random() % (round % 2 == 0 ? 256 : 48));
    const PerfBytes view{exact.data(), kBytes};
    const std::uint64_t from = random(), count = random() % (2 * kBytes), live = from;
    std::uint64_t found = 0, lost = 0;
    read_perf_forward(
        view, from, from + count, [&](const PerfSwitch&) { ++found; }, [&](const PerfDrops& d) { lost += d.count; });
    read_perf_backward(view, from, from + count, &live, [&](const PerfSwitch&) { ++found; });
    EXPECT_LE(found, 2 * kBytes / sizeof(PerfSwitchRecord));
  }
}

TEST(PerfRecords, OfAnOverwrittenBufferComeNewestFirst) {
  Buffer buffer;
  for (std::uint64_t i = 1; i <= 5; ++i) buffer.prepend(record_at(i));
  bool whole = false;
  EXPECT_THAT(buffer.backward(0, &whole), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_TRUE(whole);
  const std::uint64_t done = buffer.position;
  buffer.prepend(record_at(6));
  EXPECT_THAT(buffer.backward(done, &whole), ElementsAre(6)) << "what was read before is not read again";
  EXPECT_TRUE(whole);
}

TEST(PerfRecords, ThatWereOverwrittenAreToldToBeMissing) {
  Buffer buffer;
  for (std::uint64_t i = 1; i <= 20; ++i) buffer.prepend(record_at(i));
  bool whole = true;
  EXPECT_THAT(buffer.backward(0, &whole), ElementsAre(20, 19, 18, 17, 16, 15, 14, 13));
  EXPECT_FALSE(whole);
}

TEST(PerfRecords, ThatTheKernelWritesOverMeanwhileAreNotBelieved) {
  Buffer buffer;
  for (std::uint64_t i = 1; i <= 8; ++i) buffer.prepend(record_at(i));
  const std::uint64_t live = buffer.position - 3 * sizeof(PerfSwitchRecord);
  bool whole = true;
  EXPECT_THAT(buffer.backward(0, &whole, &live), ElementsAre(8, 7, 6, 5, 4));
  EXPECT_FALSE(whole);
}

RawClock clock_of(std::initializer_list<RawPair> pairs) {
  RawClock clock{};
  for (const RawPair& pair : pairs) clock.add(pair);
  return clock;
}

constexpr std::uint64_t kSecond = 1000000000;

TEST(RawClock, DividesEvenlyBetweenPairsAndGoesOnOutside) {
  const RawClock clock = clock_of({{1000, 0}, {1000 + 3 * kSecond, kSecond}, {1000 + 5 * kSecond, 2 * kSecond}});
  EXPECT_EQ(clock.ticks_of(kSecond / 2), 1000 + 3 * kSecond / 2);
  EXPECT_EQ(clock.ticks_of(kSecond + kSecond / 2), 1000 + 4 * kSecond);
  EXPECT_EQ(clock.ticks_of(3 * kSecond), 1000 + 7 * kSecond);
  EXPECT_EQ(clock_of({{1000 + 3 * kSecond, kSecond}, {1000 + 6 * kSecond, 2 * kSecond}}).ticks_of(kSecond / 2),
            1000 + 3 * kSecond / 2);
}

TEST(RawClock, KnowsNothingFromOnePair) {
  EXPECT_EQ(RawClock{}.ticks_of(5), 0u);
  EXPECT_EQ(clock_of({{1000, 10}}).ticks_of(5), 0u);
}

TEST(RawClock, LeavesPairsOutThatRunBackwards) {
  const RawClock clock =
      clock_of({{1000, 0}, {1000 + 2 * kSecond, kSecond}, {500, 2 * kSecond}, {9 * kSecond, kSecond / 2}});
  EXPECT_EQ(clock.ticks_of(2 * kSecond), 1000 + 4 * kSecond);
}

TEST(RawClock, HoldsForDays) {
  RawClock clock{};
  for (std::uint64_t i = 0; i < 400000; ++i) clock.add({i * kSecond * 26 / 10, i * kSecond});
  for (std::uint64_t at : {std::uint64_t{0}, kSecond / 3, 1234 * kSecond + 7, 399999 * kSecond})
    EXPECT_NEAR(static_cast<double>(clock.ticks_of(at)), static_cast<double>(at) * 2.6,
                2 + 1e-15 * static_cast<double>(at));
}

TEST(RawClock, ReadsBothClocksAtOneMoment) {
  RawPair before = read_raw_pair();
  for (int i = 0; i < 1000; ++i) {
    const RawPair now = read_raw_pair();
    EXPECT_GE(now.ticks, before.ticks);
    EXPECT_GE(now.raw_ns, before.raw_ns);
    before = now;
  }
}

class Counts : public testing::Test {
 protected:
  Counts() { EXPECT_TRUE(counts_.open()); }
  ~Counts() override { counts_.close(); }
  bool in(std::uint64_t ticks, std::uint32_t tid = 7, std::uint32_t ring = 0) {
    return counts_.add({ticks, tid, 0, kSwitchedIn}, ring);
  }
  bool out(std::uint64_t ticks, std::uint32_t tid = 7, std::uint32_t ring = 0) {
    return counts_.add({ticks, tid, 0, kSwitchedOut}, ring);
  }
  void in_and_out(std::uint64_t ticks, std::uint32_t tid = 7) {
    EXPECT_TRUE(in(ticks, tid));
    EXPECT_TRUE(out(ticks + 1, tid));
  }
  SwitchCounts counts_{};
};

TEST_F(Counts, WhatTheKernelCountsAndNoRowTellsIsMissing) {
  counts_.note(7, 100, 10, false);
  for (std::uint64_t i = 0; i < 5; ++i) in_and_out(100000 * (i + 1));
  counts_.note(7, 105, 1000000, false);
  EXPECT_EQ(counts_.settle(true), 0u);
  in_and_out(2000000);
  counts_.note(7, 109, 3000000, false);
  EXPECT_EQ(counts_.settle(true), 3u);
  EXPECT_EQ(counts_.settle(true), 0u) << "once";
}

TEST_F(Counts, RowsBehindTheReadingBelongToTheNext) {
  counts_.note(7, 100, 10, false);
  counts_.note(7, 102, 350000, false);
  for (std::uint64_t i = 0; i < 5; ++i) in_and_out(100000 * (i + 1));
  EXPECT_EQ(counts_.settle(true), 0u) << "three rows lie before the reading";
  counts_.note(7, 105, 1000000, false);
  EXPECT_EQ(counts_.settle(true), 1u) << "of three switches two rows were there";
}

TEST_F(Counts, RowsFromBeforeTheFirstReadingDoNotCount) {
  in_and_out(5);
  counts_.note(7, 100, 10, false);
  in_and_out(6);
  counts_.note(7, 101, 20, false);
  EXPECT_EQ(counts_.settle(true), 1u);
}

TEST_F(Counts, OfAThreadThatBeganLaterAllCount) {
  in_and_out(100000);
  counts_.note(7, 4, 200000, true);
  EXPECT_EQ(counts_.settle(true), 3u);
}

TEST_F(Counts, AThreadIdThatComesBackBeginsAnew) {
  counts_.note(7, 100, 10, false);
  counts_.note(7, 3, 20, false);
  EXPECT_EQ(counts_.settle(true), 0u);
  counts_.note(7, 5, 30, false);
  EXPECT_EQ(counts_.settle(true), 2u);
}

TEST_F(Counts, NothingIsMissingWhereRowsWereOverwrittenOnPurpose) {
  counts_.note(7, 100, 10, false);
  counts_.note(7, 200, 20, false);
  EXPECT_EQ(counts_.settle(false), 0u);
  counts_.note(7, 201, 30, false);
  EXPECT_EQ(counts_.settle(true), 1u);
}

TEST_F(Counts, OfAThreadThatIsForgottenNothingIsMissing) {
  counts_.note(7, 100, 10, true);
  counts_.note(8, 100, 10, false);
  counts_.note(8, 102, 20, false);
  counts_.forget(7);
  EXPECT_EQ(counts_.settle(true), 2u) << "of the other one";
  counts_.note(7, 5000, 30, true);
  EXPECT_EQ(counts_.settle(true), 0u) << "it may have been born since; nobody looked";
  counts_.note(7, 5003, 40, true);
  EXPECT_EQ(counts_.settle(true), 3u);
  counts_.note(8, 110, 50, false);
  counts_.forget_all();
  EXPECT_EQ(counts_.settle(true), 0u);
}

TEST_F(Counts, ASwitchThatTwoEventsTellIsOne) {
  EXPECT_TRUE(out(1000000));
  EXPECT_FALSE(out(1000300));
  EXPECT_TRUE(in(1010000));
  EXPECT_FALSE(in(1010200));
  EXPECT_TRUE(in(1010400, 8)) << "another thread";
  EXPECT_TRUE(in(1010500, 7, 1)) << "another CPU";
  EXPECT_TRUE(out(9010500, 7, 0));
  EXPECT_TRUE(out(99010500, 7, 0)) << "far apart: its return was lost";
}

TEST_F(Counts, MoreThreadsThanPlacesAreLeftOut) {
  for (std::uint32_t tid = 1; tid < 3 * SwitchCounts::kPlaces; ++tid) counts_.note(tid, 1, 10, false);
  for (std::uint32_t tid = 1; tid < 3 * SwitchCounts::kPlaces; ++tid) EXPECT_TRUE(in(20, tid));
}

// The real kernel.
class Rings : public testing::TestWithParam<bool> {
 protected:
  ~Rings() override { rings_.close(); }
  static ThreadOrigin unknown(std::uint32_t) { return {}; }
  bool open(bool overwritten, unsigned pages) {
    const RingFailure failure = rings_.open({overwritten, GetParam(), pages}, unknown);
    if (failure.error != 0) told_ = std::string(std::strerror(failure.error)) + ": " + failure.text;
    return failure.error == 0;
  }
  struct Found {
    std::uint64_t in = 0, out = 0, dropped = 0, least_ns = UINT64_MAX, most_ns = 0;
    bool whole = true;
  };
  Found read(std::uint32_t tid) {
    Found found;
    rings_.read(
        [&](const PerfSwitch& one) {
          if (one.tid != tid) return;
          ++(one.what == kSwitchedIn ? found.in : found.out);
          found.least_ns = std::min(found.least_ns, one.raw_ns);
          found.most_ns = std::max(found.most_ns, one.raw_ns);
        },
        [&](const PerfDrops& drops, std::uint64_t) { found.dropped += drops.count; },
        [&](bool whole) { found.whole = found.whole && whole; });
    return found;
  }
  static std::uint64_t run_count(std::uint32_t tid) {
    std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/schedstat");
    std::uint64_t cpu = 0, delay = 0, count = 0;
    file >> cpu >> delay >> count;
    return count;
  }
  std::map<std::uint32_t, double> looked_at() {
    std::map<std::uint32_t, double> all;
    rings_.look([&](std::uint32_t tid, double switches) { all[tid] += switches; });
    return all;
  }
  SwitchRings rings_{};
  std::string told_;
};

// A thread that goes to sleep as often as it is told to.
class Sleeper {
 public:
  Sleeper() : thread_([this] { run(); }) { ready_.wait(); }
  ~Sleeper() {
    stop_ = true;
    go_.post();
    thread_.join();
  }
  std::uint32_t tid() const { return tid_; }
  void sleep(int times) {
    for (int i = 0; i < times; ++i) {
      go_.post();
      done_.wait();
    }
    while (state() != 'S') sched_yield();  // so that nothing of it comes later
  }
  void stay_on_one_cpu() const {
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(static_cast<pid_t>(tid()), sizeof one, &one), 0);
  }

 private:
  char state() const {
    std::ifstream file("/proc/self/task/" + std::to_string(tid()) + "/stat");
    std::string text;
    std::getline(file, text);
    return text.at(text.rfind(')') + 2);
  }
  void run() {
    tid_ = static_cast<std::uint32_t>(syscall(SYS_gettid));
    ready_.post();
    for (;;) {
      go_.wait();
      if (stop_) return;
      done_.post();
    }
  }
  struct Semaphore {
    Semaphore() { sem_init(&it, 0, 0); }
    void post() { sem_post(&it); }
    void wait() { sem_wait(&it); }
    sem_t it;
  };
  Semaphore ready_, go_, done_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> tid_{0};
  std::thread thread_;
};

#define OPEN_OR_SKIP(...) \
  if (!open(__VA_ARGS__)) GTEST_SKIP() << "this machine refuses: " << told_

TEST_P(Rings, HoldEachSwitchOfAThread) {
  Sleeper sleeper;
  OPEN_OR_SKIP(false, 64);
  if (GetParam()) {
    ASSERT_TRUE(rings_.add_thread(sleeper.tid()));
  }
  EXPECT_TRUE(rings_.has_thread(sleeper.tid()));
  read(sleeper.tid());
  const std::uint64_t before_ns = read_clock_ns(CLOCK_MONOTONIC_RAW), before = run_count(sleeper.tid());
  sleeper.sleep(500);
  const std::uint64_t counted = run_count(sleeper.tid()) - before;
  const Found found = read(sleeper.tid());
  EXPECT_TRUE(found.whole);
  EXPECT_GT(counted, 0u);
  EXPECT_NEAR(static_cast<double>(found.in), static_cast<double>(counted), 1) << "it may be going to sleep just now";
  EXPECT_NEAR(static_cast<double>(found.out), static_cast<double>(found.in), 1);
  EXPECT_GE(found.least_ns, before_ns);
  EXPECT_LE(found.most_ns, read_clock_ns(CLOCK_MONOTONIC_RAW));
  EXPECT_GE(rings_.written(), found.in + found.out);
}

TEST_P(Rings, HaveEventsWhosePriceIsMeasured) {
  OPEN_OR_SKIP(true, 8);
  EXPECT_GT(measure_event_switch(switch_event()), 0u);
  perf_event_attr unknown = switch_event();
  unknown.config = 1 << 20;
  EXPECT_EQ(measure_event_switch(unknown), 0u);
}

TEST_P(Rings, ThatAreOverwrittenHoldTheNewest) {
  Sleeper sleeper;
  OPEN_OR_SKIP(true, 2);
  if (GetParam()) {
    ASSERT_TRUE(rings_.add_thread(sleeper.tid()));
  }
  const std::uint64_t before = run_count(sleeper.tid());
  while (run_count(sleeper.tid()) < before + 2000) sleeper.sleep(100);
  const Found found = read(sleeper.tid());
  EXPECT_FALSE(found.whole);
  EXPECT_GT(found.in, 0u);
  EXPECT_LT(found.in, 2000u);
  EXPECT_LE(found.in + found.out, rings_.capacity());
  EXPECT_GE(rings_.written(), 2000u);
}

TEST_P(Rings, ThatAreFullSaySoOnceSomethingFitsAgain) {
  Sleeper sleeper;
  OPEN_OR_SKIP(false, 2);
  if (GetParam()) {
    ASSERT_TRUE(rings_.add_thread(sleeper.tid()));
  }
  sleeper.stay_on_one_cpu();  // the losses of a buffer are told in that buffer
  const std::uint64_t before = run_count(sleeper.tid());
  while (run_count(sleeper.tid()) < before + 2000) sleeper.sleep(100);
  std::uint64_t dropped = read(sleeper.tid()).dropped;
  while (dropped == 0) {
    sleeper.sleep(10);
    dropped += read(sleeper.tid()).dropped;
  }
  EXPECT_GT(dropped, 1000u);
}

TEST_P(Rings, FollowThreadsThatAreMadeLater) {
  OPEN_OR_SKIP(false, 64);
  Sleeper sleeper;
  if (GetParam()) {
    ASSERT_TRUE(rings_.add_thread(sleeper.tid()));
  }
  sleeper.sleep(200);
  EXPECT_GT(read(sleeper.tid()).in, 0u);
}

TEST_P(Rings, AreLookedAtWithoutTakingAnythingOut) {
  for (const bool overwritten : {false, true}) {
    Sleeper sleeper;
    OPEN_OR_SKIP(overwritten, 64);
    if (GetParam()) {
      ASSERT_TRUE(rings_.add_thread(sleeper.tid()));
    }
    looked_at();
    constexpr int kSleeps = SwitchRings::kMostLooked / 8;  // four records each at most: all are looked at
    sleeper.sleep(kSleeps);
    const double seen = looked_at()[sleeper.tid()];
    EXPECT_GT(seen, 0);
    sleeper.sleep(kSleeps);
    const double more = looked_at()[sleeper.tid()];
    EXPECT_GT(more, 0);
    EXPECT_EQ(looked_at().count(sleeper.tid()), 0u) << "what is new only";
    const Found found = read(sleeper.tid());
    EXPECT_NEAR(static_cast<double>(found.in), seen + more, 4);
    rings_.close();
  }
}

TEST_P(Rings, ThatWereOverwrittenSinceAreLookedAtInPart) {
  Sleeper sleeper;
  OPEN_OR_SKIP(true, 2);
  if (GetParam()) {
    ASSERT_TRUE(rings_.add_thread(sleeper.tid()));
  }
  looked_at();
  const std::uint64_t before = run_count(sleeper.tid());
  while (run_count(sleeper.tid()) < before + 2000) sleeper.sleep(100);
  double all = 0;
  for (const auto& [tid, switches] : looked_at()) all += switches;
  EXPECT_GT(all, 1900) << "each of the newest stands for several";
}

TEST_P(Rings, LeaveAThreadOutAndTakeItBack) {
  Sleeper left, stays;
  OPEN_OR_SKIP(true, 64);
  for (const std::uint32_t tid : {left.tid(), stays.tid()})
    if (GetParam()) {
      ASSERT_TRUE(rings_.add_thread(tid));
    }
  static std::uint32_t g_unwanted = 0;
  g_unwanted = left.tid();
  const auto is_unwanted = [](std::uint32_t tid) { return tid == g_unwanted; };
  const auto sleep_and_look = [&] {
    looked_at();
    left.sleep(200);
    stays.sleep(200);
    return looked_at();
  };
  rings_.detach_all(is_unwanted);
  EXPECT_EQ(sleep_and_look().count(left.tid()), 0u);
  rings_.attach_again(is_unwanted, [](std::uint32_t tid) { ADD_FAILURE() << tid; });
  auto seen = sleep_and_look();
  EXPECT_EQ(seen.count(left.tid()), 0u);
  EXPECT_GT(seen[stays.tid()], 0);
  EXPECT_FALSE(rings_.has_thread(left.tid()));
  EXPECT_TRUE(rings_.has_thread(stays.tid()));
  EXPECT_TRUE(rings_.attach_one(left.tid()));
  EXPECT_GT(sleep_and_look()[left.tid()], 0);
  EXPECT_TRUE(rings_.has_thread(left.tid()));
  EXPECT_GT(read(left.tid()).in, 0u);
}

TEST_P(Rings, AdoptWhatInheritsFromAnAttachedThread) {
  OPEN_OR_SKIP(false, 8);
  if (GetParam()) GTEST_SKIP() << "nothing is inherited where each thread has a buffer";
  const auto own = static_cast<std::uint32_t>(syscall(SYS_gettid));
  EXPECT_TRUE(rings_.adopts(1000000, {own, ticks()}));
  EXPECT_TRUE(rings_.has_thread(1000000));
  EXPECT_FALSE(rings_.adopts(1000001, {own, 1})) << "it was there before";
  EXPECT_FALSE(rings_.adopts(1000001, {2000000, ticks()})) << "its maker has none";
  EXPECT_FALSE(rings_.adopts(1000001, {}));
}

TEST_P(Rings, LeaveNothingOpenBehind) {
  const auto descriptors = [] {
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0;
    return count;
  };
  const int before = descriptors();
  OPEN_OR_SKIP(false, 8);
  rings_.close();
  EXPECT_EQ(descriptors(), before);
  EXPECT_FALSE(rings_.is_open());
  OPEN_OR_SKIP(true, 8);
}

INSTANTIATE_TEST_SUITE_P(Switches, Rings, testing::Bool(),
                         [](const auto& each) { return each.param ? "ofThreads" : "ofCpus"; });

}  // namespace
}  // namespace hostprobe::probe
