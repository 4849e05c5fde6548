// Who made the main thread wait, down to the first link: analysis/questions/{wake_chains,chain_walk,rank_waits}.cpp
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <random>

#include "analysis/graph/rank_waits.h"
#include "analysis/process.h"
#include "analysis/ranks/process_work.h"
#include "model/activity.h"
#include "report/json/json_chains.h"
#include "report/json_text.h"
#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using test::TraceFile;

constexpr std::uint64_t kLib = 0x100000;
constexpr std::uint32_t kMain = 4242, kRelay = 9, kWorker = 10, kStranger = 77;
constexpr std::uint16_t kWait = 1, kPoll = 2, kSync = 3, kSleep = 4;

class WakeChainAnswers : public testing::Test {
 protected:
  WakeChainAnswers() {
    file_.hooks({test::wait_hook("sem_wait"), test::wait_hook("poll"), test::sync_hook("cuStreamSynchronize"),
                 test::wait_hook("nanosleep")});
    file_.module(kLib, kLib + 0x1000, "/x/libx.so");
    file_.thread(test::thread_entry(kMain, "main"));
    file_.thread(test::thread_entry(kRelay, "pt_gloo_runloop"));
    file_.thread(test::thread_entry(kWorker, "worker"));
  }
  static test::Call wait(double begin_us, double end_us, std::uint32_t waker = 0, double post_us = 0) {
    const std::uint64_t post = waker == 0 ? 0 : pack_post(waker, test::at_us(post_us));
    return {.hook = kWait, .begin_us = begin_us, .end_us = end_us, .b = post, .c = kLib + 1};
  }
  static test::Call blocks(std::uint16_t hook, double begin_us, double end_us) {
    return {.hook = hook, .begin_us = begin_us, .end_us = end_us, .c = kLib + 1};
  }
  WakeChain chain() {
    file_.strings(strings_);
    file_.write(folder_.file("t.hptrace"));
    const ProcessAnswer answer = analyse_process(read_trace(folder_.file("t.hptrace")), symbols_);
    for (const WaitSite& site : answer.waits)
      if (site.role == Role::kMain && site.function == "sem_wait") return site.chain;
    return {};
  }
  test::TestFolder folder_;
  test::StringArea strings_;
  TraceFile file_;
  Symbols symbols_;
};

double ms_of(const WakeChain& chain, LinkType type, std::size_t links) {
  double ms = 0;
  for (const ChainLink& link : chain.links)
    if (link.type == type && link.roles.size() == links) ms += link.ms;
  return ms;
}

double sum_ms(const WakeChain& chain) {
  double ms = 0;
  for (const ChainLink& link : chain.links) ms += link.ms;
  return ms;
}

TEST_F(WakeChainAnswers, TheWakersOwnWorkIsTheFirstLink) {
  file_.calls(kMain, 0, {wait(0, 1000, kWorker, 900)});
  file_.calls(kWorker, 0, {wait(5000, 5001)});
  const WakeChain own = chain();
  EXPECT_EQ(own.waits, 1u);
  EXPECT_NEAR(own.dependency_ms, 0.9, 1e-6);
  EXPECT_NEAR(own.wake_ms, 0.1, 1e-6);
  EXPECT_NEAR(ms_of(own, LinkType::kRuns, 1), 0.9, 1e-6);
}

// The relay hands on what the worker did: it was posted at 800, ran at 1000 for 5 µs, and woke the main thread.
TEST_F(WakeChainAnswers, GoOverRelaysToWhoeverTheyWaitedFor) {
  file_.calls(kMain, 0, {wait(100, 1100, kRelay, 1005)});
  file_.calls(kRelay, 0, {wait(0, 1000, kWorker, 800)});
  file_.calls(kWorker, 0, {blocks(kPoll, 200, 500)});
  const WakeChain own = chain();
  EXPECT_NEAR(ms_of(own, LinkType::kRuns, 2), 0.4, 1e-6) << "the worker, before and behind its poll";
  EXPECT_NEAR(ms_of(own, LinkType::kIo, 2), 0.3, 1e-6);
  EXPECT_NEAR(ms_of(own, LinkType::kWakesLate, 1), 0.2, 1e-6) << "the relay";
  EXPECT_NEAR(ms_of(own, LinkType::kRuns, 1), 0.005, 1e-6);
  EXPECT_NEAR(sum_ms(own), own.dependency_ms, 1e-6);
}

TEST_F(WakeChainAnswers, EndAtTheGpuAtATimerAndAtStrangers) {
  file_.calls(kMain, 0, {wait(0, 100, kWorker, 90), wait(200, 300, kStranger, 290), wait(400, 500)});
  file_.calls(kWorker, 0, {blocks(kSync, 10, 50), blocks(kSleep, 60, 80)});
  const WakeChain own = chain();
  EXPECT_NEAR(ms_of(own, LinkType::kGpu, 1), 0.04, 1e-6);
  EXPECT_NEAR(ms_of(own, LinkType::kTimer, 1), 0.02, 1e-6);
  EXPECT_NEAR(ms_of(own, LinkType::kForeign, 0), 0.09, 1e-6);
  EXPECT_NEAR(ms_of(own, LinkType::kUnexplained, 0), 0.1, 1e-6) << "nobody saw the post";
  EXPECT_NEAR(sum_ms(own), own.dependency_ms, 1e-6);
}

TEST_F(WakeChainAnswers, AThreadSeenBeforeEndsTheChain) {
  file_.calls(kMain, 0, {wait(0, 1000, kRelay, 900)});
  file_.calls(kRelay, 0, {wait(0, 800, kWorker, 790)});
  file_.calls(kWorker, 0, {wait(0, 700, kRelay, 650)});
  const WakeChain own = chain();
  EXPECT_NEAR(ms_of(own, LinkType::kUnexplained, 2), 0.65, 1e-6);
  EXPECT_NEAR(sum_ms(own), own.dependency_ms, 1e-6);
}

TEST_F(WakeChainAnswers, AWaitInsideAnotherCountsOnce) {
  file_.calls(kMain, 0, {wait(0, 1000, kWorker, 1000)});
  file_.calls(kWorker, 0, {blocks(kSync, 100, 900), wait(200, 800)});
  const WakeChain own = chain();
  EXPECT_NEAR(ms_of(own, LinkType::kGpu, 1), 0.8, 1e-6);
  EXPECT_NEAR(sum_ms(own), own.dependency_ms, 1e-6);
}

TEST_F(WakeChainAnswers, NeverSumToMoreThanWasWaited) {
  std::mt19937_64 random(7);
  const auto pick = [&random](std::uint64_t below) { return static_cast<double>(random() % below); };
  const std::uint32_t tids[] = {kMain, kRelay, kWorker, kStranger};
  for (const std::uint32_t tid : {kMain, kRelay, kWorker}) {
    std::vector<test::Call> calls;
    double at = 0;
    for (int i = 0; i < 300; ++i) {
      const double begin = at + pick(50), end = begin + 1 + pick(200);
      at = end;
      if (pick(3) == 0)
        calls.push_back(blocks(static_cast<std::uint16_t>(2 + random() % 3), begin, end));
      else
        calls.push_back(wait(begin, end, tids[random() % 4], begin + pick(static_cast<std::uint64_t>(end - begin))));
    }
    file_.calls(tid, 0, calls);
  }
  const WakeChain own = chain();
  EXPECT_GT(own.waits, 100u);
  EXPECT_NEAR(sum_ms(own), own.dependency_ms, 1e-6);
  for (const ChainLink& link : own.links) EXPECT_GE(link.ms, 0);
}

// Two ranks that meet in one all-reduce; the second comes late.
class ChainsOverRanks : public testing::Test {
 protected:
  struct Rank {
    test::TraceFile file;
    std::unique_ptr<Trace> trace;
    std::unique_ptr<Timeline> timeline;
    ProcessWork work;
    DeviceTimeline device;
  };
  static constexpr std::uint16_t kAllReduce = 5;

  ChainsOverRanks() {
    for (Rank& one : ranks_) {
      one.file.hooks({test::wait_hook("sem_wait"),
                      test::wait_hook("poll"),
                      test::sync_hook("cuStreamSynchronize"),
                      test::wait_hook("nanosleep"),
                      {.name = "ncclAllReduce",
                       .family = Family::kNccl,
                       .labels = {"comm:hex", "count", "call:nccl", "stream:hex", "place:ranks"},
                       .blocking = false}});
      one.file.module(kLib, kLib + 0x1000, "/x/libx.so");
      one.file.thread(test::thread_entry(kMain, "main"));
      one.file.thread(test::thread_entry(kWorker, "worker"));
    }
  }
  static test::Call all_reduce(std::int32_t rank, double begin_us, double end_us, std::uint32_t sequence = 1) {
    return {.hook = kAllReduce,
            .begin_us = begin_us,
            .end_us = end_us,
            .a = 0xc,
            .b = 16,
            .c = pack_nccl_call(sequence, 0, 7, 0),
            .e = pack_nccl_ranks(rank, 2, -1)};
  }
  void kernel(std::size_t rank, double launch_us, double begin_us, double end_us) {
    Activity one;
    one.begin_ns = 1000 * begin_us;
    one.end_ns = 1000 * end_us;
    one.launch_ns = 1000 * launch_us;
    one.launch_tid = kMain;
    one.collective = true;
    ranks_[rank].device.activities.push_back(one);
  }
  struct Members {
    std::vector<ChainMember> all;
    std::vector<std::shared_ptr<const CollectiveKernels>> kernels;
  };
  Members read() {
    Members members;
    for (std::size_t i = 0; i < 2; ++i) {
      Rank& one = ranks_[i];
      one.file.write(folder_.file("t.hptrace"));
      one.trace = std::make_unique<Trace>(read_trace(folder_.file("t.hptrace")));
      one.timeline = std::make_unique<Timeline>(*one.trace, symbols_);
      analyse_process(*one.timeline, symbols_, 1, {}, {}, nullptr, &one.work);
      members.all.push_back({one.work.blocked.get(), {}, static_cast<std::uint32_t>(500 + i), static_cast<int>(i)});
      for (const auto& [key, share] : one.work.collectives.shares) members.all.back().collectives += share.count;
      members.kernels.push_back(std::make_shared<const CollectiveKernels>(one.device));
    }
    return members;
  }
  WakeChainAnswer follow(std::uint32_t member) {
    Members members = read();
    EXPECT_TRUE(find_rank_waits(members.all, members.kernels));
    return follow_chains(members.all, member);
  }
  test::TestFolder folder_;
  Symbols symbols_;
  Rank ranks_[2];
};

double ms_of(const WakeChain& chain, LinkType type, std::size_t links, std::uint32_t pid) {
  double ms = 0;
  for (const ChainLink& link : chain.links)
    if (link.type == type && link.roles.size() == links && link.pid == pid) ms += link.ms;
  return ms;
}

// Its main thread was kept by a worker until 500, called at 600, and its GPU came at 700.
TEST_F(ChainsOverRanks, GoOnInTheRankThatCameLast) {
  ranks_[0].file.calls(kMain, 0, {all_reduce(0, 10, 15), {.hook = kSync, .begin_us = 30, .end_us = 730}});
  kernel(0, 12, 20, 720);
  const std::uint64_t post = pack_post(kWorker, test::at_us(450));
  ranks_[1].file.calls(
      kMain, 0, {{.hook = kWait, .begin_us = 100, .end_us = 500, .b = post, .c = kLib + 1}, all_reduce(1, 600, 605)});
  kernel(1, 602, 700, 720);
  const WakeChain own = follow(0).synchronises;
  EXPECT_EQ(own.waits, 1u);
  EXPECT_NEAR(own.dependency_ms, 0.7, 1e-6);
  EXPECT_NEAR(sum_ms(own), own.dependency_ms, 1e-6);
  EXPECT_NEAR(ms_of(own, LinkType::kRuns, 1, 501), 0.07 + 0.1, 1e-6) << "rank 1's main thread";
  EXPECT_NEAR(ms_of(own, LinkType::kRuns, 2, 501), 0.35, 1e-6) << "the worker that it waited for";
  EXPECT_NEAR(ms_of(own, LinkType::kWakesLate, 1, 501), 0.05, 1e-6);
  EXPECT_NEAR(ms_of(own, LinkType::kGpu, 1, 501), 0.1, 1e-6) << "called, and its GPU was not there yet";
  EXPECT_NEAR(ms_of(own, LinkType::kGpu, 0, 0), 0.03, 1e-6) << "the operation itself";
  const auto json = nlohmann::json::parse(json_text(chain_json(own), -1));
  EXPECT_EQ(json["links"][0]["rank"], 1);
  EXPECT_EQ(json["links"][0]["pid"], 501);
  EXPECT_EQ(follow(1).synchronises.waits, 0u);
}

TEST_F(ChainsOverRanks, OfACallThatBlocksGoOnWithoutGpuTimes) {
  ranks_[0].file.calls(kMain, 0,
                       {{.hook = kWait, .begin_us = 20, .end_us = 700, .c = kLib + 1}, all_reduce(0, 10, 710)});
  ranks_[1].file.calls(kMain, 0, {all_reduce(1, 600, 705)});
  const WakeChainAnswer answer = follow(0);
  ASSERT_EQ(answer.waits.size(), 1u);
  const WakeChain& own = answer.waits.begin()->second;
  EXPECT_NEAR(ms_of(own, LinkType::kRuns, 1, 501), 0.58, 1e-6) << "until it called";
  EXPECT_NEAR(sum_ms(own), own.dependency_ms, 1e-6);
}

// What returned before the collective ended waited for something else, and so did a call that did not block.
TEST_F(ChainsOverRanks, DoNotGoOnWhereTheRankWasNotWaitedFor) {
  ranks_[0].file.calls(kMain, 0, {all_reduce(0, 10, 15), {.hook = kSync, .begin_us = 30, .end_us = 400}});
  kernel(0, 12, 20, 720);
  ranks_[1].file.calls(kMain, 0, {all_reduce(1, 600, 605)});
  EXPECT_NEAR(ms_of(follow(0).synchronises, LinkType::kGpu, 0, 0), 0.37, 1e-6) << "rank 1's kernel is not known";
  kernel(1, 602, 700, 720);
  EXPECT_NEAR(ms_of(follow(0).synchronises, LinkType::kGpu, 0, 0), 0.37, 1e-6);
}

TEST_F(ChainsOverRanks, AreNotFollowedWhereMoreArrivalsWouldBeHeldThanMay) {
  ranks_[0].file.calls(kMain, 0, {all_reduce(0, 10, 615), all_reduce(0, 20, 625, 2), all_reduce(0, 30, 635, 3)});
  ranks_[1].file.calls(kMain, 0, {all_reduce(1, 600, 605), all_reduce(1, 610, 615, 2), all_reduce(1, 620, 625, 3)});
  Members members = read();
  EXPECT_FALSE(find_rank_waits(members.all, members.kernels, 5));
  EXPECT_TRUE(members.all[0].waits.empty());
  EXPECT_TRUE(find_rank_waits(members.all, members.kernels, 6));
  EXPECT_EQ(members.all[0].waits.size(), 3u);
}

// Each rank is read on for some calls, then the next one; the second one has more.
TEST_F(ChainsOverRanks, OfLongRunsAreAllFound) {
  constexpr std::uint32_t kCalls = 500;
  std::vector<test::Call> calls[2];
  for (std::uint32_t i = 0; i < kCalls; ++i) {
    calls[0].push_back(all_reduce(0, 10 + 1000 * i, 615 + 1000 * i, i + 1));
    calls[1].push_back(all_reduce(1, 600 + 1000 * i, 605 + 1000 * i, i + 1));
  }
  calls[1].push_back(all_reduce(1, 600 + 1000 * kCalls, 605 + 1000 * kCalls, kCalls + 1));
  for (int rank : {0, 1}) ranks_[rank].file.calls(kMain, 0, calls[rank]);
  Members members = read();
  ASSERT_TRUE(find_rank_waits(members.all, members.kernels));
  ASSERT_EQ(members.all[0].waits.size(), kCalls);
  EXPECT_TRUE(members.all[1].waits.empty());
  for (const RankWait& wait : members.all[0].waits) EXPECT_NEAR(wait.end_ns - wait.begin_ns, 590e3, 1);
}

}  // namespace
}  // namespace hostprobe::analysis
